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

// Entries 1 to the count are in use. Read and written by atomic functions, for the strategy `free`, where threads really run at
// the same time; relaxed, since each judgement looks at one number.
Native natives[kMaxNatives + 1];
Wrapper wrappers[kMaxWrappers + 1];
int native_count = 0;
int wrapper_count = 0;
bool unloaded[2];

template <typename T>
T Load(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}
template <typename T>
void Store(T& value, T to) {
  __atomic_store_n(&value, to, __ATOMIC_RELAXED);
}

// The native object's own wrapper, which becomes `wrapper` if there is none.
int Own(int native, int wrapper) {
  int none = 0;
  int& own = natives[native].own_wrapper;
  if (__atomic_compare_exchange_n(&own, &none, wrapper, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return wrapper;
  return none;
}

int NextNumber(int& count, int limit, const char* what) {
  const int number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (number > limit) Fail("harness", "", "The watch holds %d %s. Raise its limit.", limit, what);
  return number;
}

}  // namespace

void Reset() {
  native_count = 0;
  wrapper_count = 0;
  unloaded[0] = unloaded[1] = false;
}

int NativeMade() {
  const int number = NextNumber(native_count, kMaxNatives, "native objects");
  natives[number] = Native{};
  return number;
}

void NativeGone(int native) {
  Native& n = natives[native];
  if (__atomic_exchange_n(&n.gone, true, __ATOMIC_RELAXED))
    Fail("double-delete", "O1", "Native object %d is destroyed a second time.", native);
  if (const int own = Load(n.own_wrapper); own != 0) {
    Fail("delete-while-held", "O1",
         "Native object %d is destroyed while its wrapper %d is alive. A wrapper holds a strong reference, or is given back "
         "first.",
         native, own);
  }
  if (const int owned = Load(n.owned); owned != 0) {
    Fail("protocol", "C6", "Native object %d ends and has taken %d references to its wrapper more than it gave back.", native,
         owned);
  }
}

int WrapperMade(int native) {
  const int number = NextNumber(wrapper_count, kMaxWrappers, "wrappers");
  wrappers[number] = Wrapper{native, false, false};
  return number;
}

void WrapperPublished(int wrapper) {
  const int native = wrappers[wrapper].native;
  const int own = Own(native, wrapper);
  if (own == wrapper) return;
  Fail("protocol", "C4", "Native object %d gets wrapper %d although it has wrapper %d: one object, one wrapper.", native, wrapper,
       own);
}

void WrapperReturned(int native, int wrapper) {
  if (Load(wrappers[wrapper].gone)) {
    Fail("use-after-delete", "C4", "Wrapper %d of native object %d is handed out after it was freed.", wrapper, native);
  }
  const int own = Own(native, wrapper);
  if (own == wrapper) return;
  Fail("wrong-value", "C4", "Wrapper %d is handed out for native object %d, whose wrapper is %d: identity is lost.", wrapper,
       native, own);
}

void HermeticReturned(int native, int wrapper) {
  if (Load(natives[native].own_wrapper) != wrapper) return;
  Fail("wrong-value", "T3",
       "A caller that wanted a wrapper of his own is handed wrapper %d, which native object %d shows to everybody.", wrapper,
       native);
}

void WrapperTaken(int native, int wrapper) {
  if (wrappers[wrapper].native == native) return;
  Fail("wrong-value", "C4",
       "A weak reference to native object %d took wrapper %d, which is of native object %d: the memory was used again meanwhile. "
       "Look at the slot again once the reference is there.",
       native, wrapper, wrappers[wrapper].native);
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
  int own = wrapper;
  __atomic_compare_exchange_n(&natives[wrappers[wrapper].native].own_wrapper, &own, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void WrapperGone(int wrapper) {
  Wrapper& w = wrappers[wrapper];
  if (__atomic_exchange_n(&w.gone, true, __ATOMIC_RELAXED))
    Fail("double-delete", "C2", "Wrapper %d is freed a second time.", wrapper);
  if (Load(natives[w.native].own_wrapper) == wrapper) {
    Fail("delete-while-held", "O4", "Wrapper %d is freed while the slot of native object %d still leads to it.", wrapper,
         w.native);
  }
}

void NativeOwns(int native, int change) { __atomic_add_fetch(&natives[native].owned, change, __ATOMIC_RELAXED); }

int OwnedByNative(int native) { return Load(natives[native].owned); }

void WronglyExpired(int native) {
  Fail("protocol", "C5",
       "A weak reference to native object %d was found expired while somebody else held the object strongly. It may only be so "
       "if the "
       "object, or its wrapper as the last owner, was going.",
       native);
}

void WronglyNotFound(int native) {
  Fail(
      "protocol", "C7",
      "A lookup did not find the wrapper of native object %d, which was there and could not go: a wrapper must allow conditional "
      "increfs before others can see it.",
      native);
}

void Unloaded(int interpreter) { Store(unloaded[interpreter], true); }

void CodeCalled(int interpreter) {
  if (!Load(unloaded[interpreter])) return;
  Fail("use-after-delete", "D1", "Code of interpreter %d is called after it was unloaded. Unload when no call is under way.",
       interpreter);
}

void LeftElsewhere(int interpreter) {
  Fail("protocol", "D4",
       "A call into interpreter %d left its thread attached elsewhere than it was: it entered, and the function that leaves was "
       "overwritten meanwhile. Read all functions before the first call.",
       interpreter);
}

void WrapperLeaked(int wrapper) {
  if (__atomic_exchange_n(&wrappers[wrapper].leaked, true, __ATOMIC_RELAXED)) {
    Fail("double-delete", "D3", "Wrapper %d is given up a second time.", wrapper);
  }
  WrapperWithdrawn(wrapper);
}

const void* NativeToken(int native) { return &natives[native]; }
const void* WrapperToken(int wrapper) { return &wrappers[wrapper]; }

bool Outstanding() {
  for (int i = 1; i <= native_count; ++i) {
    if (!Load(natives[i].gone)) return true;
  }
  for (int i = 1; i <= wrapper_count; ++i) {
    if (!Load(wrappers[i].gone) && !Load(wrappers[i].leaked)) return true;
  }
  return false;
}

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
