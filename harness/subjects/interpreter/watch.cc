#include "harness/subjects/interpreter/watch.h"

#include "harness/oracle/verdict.h"

namespace handoff::interpreter::watch {
namespace {

using oracle::Fail;

struct Native {
  bool gone;
  int own_wrapper;  // number, 0 if none
  int owned;        // references of the native side to it
};

struct Wrapper {
  int native;
  bool gone;
  bool leaked;
};

// Entries 1 to the count are in use. Plain: the scheduler lets one thread run at a time, and under the strategy `free`, where it
// does not, what they say is not judged more strictly than what the subject does.
Native natives[kMaxNatives + 1];
Wrapper wrappers[kMaxWrappers + 1];
int native_count = 0;
int wrapper_count = 0;
bool unloaded[2];

}  // namespace

void Reset() {
  native_count = 0;
  wrapper_count = 0;
  unloaded[0] = unloaded[1] = false;
}

int NativeMade() {
  if (native_count == kMaxNatives) Fail("harness", "", "The watch holds %d native objects. Raise kMaxNatives.", kMaxNatives);
  natives[++native_count] = Native{};
  return native_count;
}

void NativeGone(int native) {
  Native& n = natives[native];
  if (n.gone) Fail("double-delete", "O1", "Native object %d is destroyed a second time.", native);
  if (n.own_wrapper != 0) {
    Fail("delete-while-held", "O1",
         "Native object %d is destroyed while its wrapper %d is alive. A wrapper holds a strong reference, or is given back "
         "first.",
         native, n.own_wrapper);
  }
  if (n.owned != 0) {
    Fail("protocol", "C6", "Native object %d ends and has taken %d references to its wrapper more than it gave back.", native,
         n.owned);
  }
  n.gone = true;
}

int WrapperMade(int native) {
  if (wrapper_count == kMaxWrappers) Fail("harness", "", "The watch holds %d wrappers. Raise kMaxWrappers.", kMaxWrappers);
  wrappers[++wrapper_count] = Wrapper{native, false, false};
  return wrapper_count;
}

void WrapperPublished(int wrapper) {
  Native& n = natives[wrappers[wrapper].native];
  if (n.own_wrapper == 0) n.own_wrapper = wrapper;
  if (n.own_wrapper == wrapper) return;
  Fail("protocol", "C4", "Native object %d gets wrapper %d although it has wrapper %d: one object, one wrapper.",
       wrappers[wrapper].native, wrapper, n.own_wrapper);
}

void WrapperReturned(int native, int wrapper) {
  if (wrappers[wrapper].gone) {
    Fail("use-after-delete", "C4", "Wrapper %d of native object %d is handed out after it was freed.", wrapper, native);
  }
  Native& n = natives[native];
  if (n.own_wrapper == 0) n.own_wrapper = wrapper;
  if (n.own_wrapper == wrapper) return;
  Fail("wrong-value", "C4", "Wrapper %d is handed out for native object %d, whose wrapper is %d: identity is lost.", wrapper,
       native, n.own_wrapper);
}

void HermeticReturned(int native, int wrapper) {
  if (natives[native].own_wrapper != wrapper) return;
  Fail("wrong-value", "T3",
       "A caller that wanted a wrapper of his own is handed wrapper %d, which native object %d shows to everybody.", wrapper,
       native);
}

void DeallocBegins(int wrapper, std::uint64_t strong) {
  if (strong == 1) return;
  Fail("protocol", "C3",
       "Wrapper %d ends while its native object has %llu strong references. With more than the wrapper's own, the native side "
       "must hold "
       "a reference to the wrapper.",
       wrapper, static_cast<unsigned long long>(strong));
}

void WrapperWithdrawn(int wrapper) {
  Native& n = natives[wrappers[wrapper].native];
  if (n.own_wrapper == wrapper) n.own_wrapper = 0;
}

void WrapperGone(int wrapper) {
  Wrapper& w = wrappers[wrapper];
  if (w.gone) Fail("double-delete", "C2", "Wrapper %d is freed a second time.", wrapper);
  if (natives[w.native].own_wrapper == wrapper) {
    Fail("delete-while-held", "O4", "Wrapper %d is freed while the slot of native object %d still leads to it.", wrapper,
         w.native);
  }
  w.gone = true;
}

void NativeOwns(int native, int change) { natives[native].owned += change; }

int OwnedByNative(int native) { return natives[native].owned; }

void WronglyExpired(int native) {
  Fail("protocol", "C5",
       "A weak reference to native object %d was found expired while somebody else held the object strongly. It may only be so "
       "if the "
       "object, or its wrapper as the last owner, was going.",
       native);
}

void Unloaded(int interpreter) { unloaded[interpreter] = true; }

void CodeCalled(int interpreter) {
  if (!unloaded[interpreter]) return;
  Fail("use-after-delete", "D1", "Code of interpreter %d is called after it was unloaded. Unload when no call is under way.",
       interpreter);
}

void WrapperLeaked(int wrapper) {
  if (wrappers[wrapper].leaked) Fail("double-delete", "D3", "Wrapper %d is given up a second time.", wrapper);
  wrappers[wrapper].leaked = true;
  WrapperWithdrawn(wrapper);
}

const void* NativeToken(int native) { return &natives[native]; }
const void* WrapperToken(int wrapper) { return &wrappers[wrapper]; }

void Judge() {
  for (int i = 1; i <= native_count; ++i) {
    if (!natives[i].gone) Fail("missing-delete", "O1", "Native object %d is left although every reference to it was dropped.", i);
  }
  for (int i = 1; i <= wrapper_count; ++i) {
    if (wrappers[i].gone || wrappers[i].leaked) continue;
    Fail("missing-delete", "C6", "Wrapper %d of native object %d is left although every reference to it was dropped.", i,
         wrappers[i].native);
  }
}

}  // namespace handoff::interpreter::watch
