#include "harness/subjects/interpreter/tag_slot.h"

#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

const void* Token(const TagNative& native) { return watch::NativeToken(native.number); }

// The interpreter's code: what the native side calls, attached or not.
Runtime* Enter(int thread, Tag& tag) {
  watch::CodeCalled(tag.number());
  Runtime* before = Current(thread);
  if (Has(Defect::kReleaseUnattached)) return before;
  if (Has(Defect::kReleaseInWrongInterpreter) && before != nullptr) return before;  // attached somewhere: is it to the right one?
  if (before == &tag.runtime()) return before;
  if (before != nullptr) before->Detach(thread);
  return tag.runtime().Attach(thread) ? before : nullptr;  // these interpreters do not end
}

void DecrefEntered(int thread, TagWrapper* wrapper) { Decref(thread, wrapper); }

void Leave(int thread, Tag& tag, Runtime* before) {
  watch::CodeCalled(tag.number());
  if (Current(thread) == before) return;
  tag.runtime().Detach(thread);
  if (before != nullptr && !before->Attach(thread)) return;
}

constexpr Functions kCode = {Enter, DecrefEntered, Leave};

std::unique_ptr<Dispatch> MakeDispatch(Tag& tag) {
  if (tag.number() == 0) return std::make_unique<TableDispatch>(tag, kCode);
  return std::make_unique<PointersDispatch>(tag, kCode);
}

void Destroy(int thread, TagNative* native) {
  // Nobody else is left, and everybody's writes to the slot came before their drops.
  if (native->owns) {
    TagWrapper* wrapper = std::exchange(native->slot, nullptr);
    native->owns = false;
    watch::WrapperWithdrawn(wrapper->number);
    watch::NativeOwns(native->number, -1);
    wrapper->tag->Decref(thread, wrapper);
  }
  watch::NativeGone(native->number);
  delete native;
}

// Whether the wrapper, whose last reference is gone, is to live on because the native object does.
bool Keeps(TagWrapper* wrapper) {
  const TagNative* native = wrapper->native;
  if (native == nullptr || native->owns || native->slot != wrapper) return false;  // kept by it until now, or hermetic
  HANDOFF_SYNC_POINT(Token(*native), "load count");
  // Acquire: as if we had dropped the other references ourselves.
  return native->strong.load(std::memory_order_acquire) > 1 && !Has(Defect::kNoResurrection);
}

// Ownership flips. The wrapper's reference to the native object goes last, and may be the last one of all: then the native object
// ends in there, and the wrapper with it.
void Keep(int thread, TagWrapper* wrapper) {
  TagNative* native = std::exchange(wrapper->native, nullptr);
  if (Has(Defect::kFlipAfterDrop)) tag::Drop(thread, native);
  native->owns = true;                                      // NOLINT(clang-analyzer-cplusplus.NewDelete): what the twin does
  wrapper->references.store(1, std::memory_order_relaxed);  // nobody else can see it without the GIL
  watch::NativeOwns(native->number, +1);
  if (!Has(Defect::kFlipAfterDrop)) tag::Drop(thread, native);
}

void DeallocWrapper(int thread, Object* object) {
  auto* wrapper = static_cast<TagWrapper*>(object);
  if (Keeps(wrapper)) {
    Keep(thread, wrapper);
    return;
  }
  TagNative* native = wrapper->native;
  if (native != nullptr && native->slot == wrapper) {
    watch::DeallocBegins(wrapper->number, static_cast<std::uint64_t>(native->strong.load(std::memory_order_relaxed)));
    if (!Has(Defect::kSlotKeepsDeadWrapper)) {
      native->slot = nullptr;
      watch::WrapperWithdrawn(wrapper->number);
    }
  }
  watch::WrapperGone(wrapper->number);
  delete wrapper;
  if (native == nullptr) return;
  const Detached detached(thread);  // it may be the native object's end
  tag::Drop(thread, native);
}

// Whether the native object is this interpreter's now (T1, T3).
bool Claim(Tag& tag, TagNative& native, bool fresh) {
  if (fresh || Has(Defect::kTagOverwritten)) {
    // Relaxed: nobody else can see the object.
    native.tag.store(&tag, std::memory_order_relaxed);
    return true;
  }
  HANDOFF_SYNC_POINT(Token(native), "claim tag");
  Tag* seen = nullptr;
  if (Has(Defect::kTagCheckedThenStored)) {
    seen = native.tag.load(std::memory_order_acquire);
    if (seen == nullptr) {
      HANDOFF_SYNC_POINT(Token(native), "store tag");
      native.tag.store(&tag, std::memory_order_release);
      return true;
    }
  } else if (native.tag.compare_exchange_strong(seen, &tag, std::memory_order_acq_rel, std::memory_order_acquire)) {
    // The tag is written once, so no order is needed for it; acquire and release cost nothing beside the exchange.
    return true;
  }
  return seen == &tag || Has(Defect::kTagIgnored);
}

TagWrapper* NewWrapper(int thread, Tag& tag, TagNative* native) {
  tag.runtime().BeforeAllocation(thread);
  return new TagWrapper(tag, tag::Copy(native), watch::WrapperMade(native->number));
}

// The native object owned it; the caller does from now on, and the wrapper owns the native object again.
void TakeBack(TagNative* native) {
  native->owns = false;
  native->slot->native = tag::Copy(native);
  watch::NativeOwns(native->number, -1);
}

}  // namespace

Tag::Tag(Mode mode, int number) : runtime_(mode, number), number_(number), dispatch_(MakeDispatch(*this)) {}

TagWrapper::TagWrapper(Tag& of, TagNative* wrapped, int wrapper_number)
    : Object(of.runtime(), DeallocWrapper, watch::WrapperToken(wrapper_number)),
      tag(&of),
      native(wrapped),
      number(wrapper_number) {}

namespace tag {

TagNative* New() {
  auto* native = new TagNative;
  native->number = watch::NativeMade();
  return native;
}

TagNative* Copy(TagNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "copy");
  native->strong.fetch_add(1, std::memory_order_relaxed);  // the caller holds one already
  return native;
}

void Drop(int thread, TagNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "drop");
  // Release: our uses come before the end. Acquire: whoever ends it sees those of all others.
  if (native->strong.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy(thread, native);
}

TagWrapper* Wrap(int thread, Tag& tag, TagNative* native, bool hermetic, bool fresh) {
  if (!Claim(tag, *native, fresh)) return nullptr;
  if (hermetic && !Has(Defect::kHermeticWrapperStored)) return NewWrapper(thread, tag, native);
  TagWrapper* made = nullptr;
  if (native->slot == nullptr || Has(Defect::kTagOverwritten)) made = NewWrapper(thread, tag, native);
  // Only now: the allocation may have given up the GIL, and somebody else may have been faster.
  TagWrapper* wrapper = native->slot;
  const bool store =
      made != nullptr && (wrapper == nullptr || Has(Defect::kTagOverwritten) || Has(Defect::kSlotReadBeforeAllocation));
  if (store) {
    wrapper = native->slot = made;
    watch::WrapperPublished(wrapper->number);
  } else if (native->owns) {
    TakeBack(native);
  } else {
    Incref(thread, wrapper);
  }
  if (made != nullptr && !store) Decref(thread, made);
  watch::WrapperReturned(native->number, wrapper->number);
  return wrapper;
}

TagNative* Unwrap(TagWrapper* wrapper) { return Copy(wrapper->native); }

}  // namespace tag

}  // namespace handoff::interpreter
