#include "harness/subjects/interpreter/count_slot.h"

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

constexpr std::uint64_t kHasWrapper = CountNative::kHasWrapper;

const void* Token(const CountNative& native) { return watch::NativeToken(native.number); }

// The twin that keeps the flag apart sees the two at two moments.
std::uint64_t LoadWord(CountNative& native) {
  HANDOFF_SYNC_POINT(Token(native), "load counts");
  std::uint64_t word = native.word.load(std::memory_order_acquire);
  if (Has(Defect::kFlagInWordOfItsOwn)) {
    HANDOFF_SYNC_POINT(Token(native), "load flag");
    if (native.flag.load(std::memory_order_acquire)) word |= kHasWrapper;
  }
  return word;
}

bool HasWrapper(CountNative& native, std::uint64_t word) {
  if (!Has(Defect::kFlagInWordOfItsOwn)) return (word & kHasWrapper) != 0;
  HANDOFF_SYNC_POINT(Token(native), "load flag");
  return native.flag.load(std::memory_order_acquire);
}

// The native side's reference to its wrapper. The strong count was just taken from 1 to 2 by somebody who holds the wrapper, or
// by its only other owner, so it is alive; acquire: its fields were written before it was put into the slot.
void TakeWrapper(int thread, CountNative& native) {
  const Attached attached(thread, *native.home);
  HANDOFF_SYNC_POINT(Token(native), "load slot");
  Incref(thread, native.slot.load(std::memory_order_acquire));
  watch::NativeOwns(native.number, +1);
}

void GiveWrapperBack(int thread, CountNative& native) {
  const Attached attached(thread, *native.home);
  HANDOFF_SYNC_POINT(Token(native), "load slot");
  CountWrapper* wrapper = native.slot.load(std::memory_order_acquire);
  watch::NativeOwns(native.number, -1);
  Decref(thread, wrapper);
}

// All strong references are gone, and with them the weak one that they had together.
void EndStrong(CountNative* native) {
  watch::NativeGone(native->number);
  count::DropWeak(native);
}

void DeallocWrapper(int thread, Object* object) {
  auto* wrapper = static_cast<CountWrapper*>(object);
  CountNative* native = wrapper->native;
  const int number = wrapper->number;
  HANDOFF_SYNC_POINT(Token(*native), "load slot");
  if (native->slot.load(std::memory_order_relaxed) == wrapper) {
    watch::DeallocBegins(number, CountNative::Strong(LoadWord(*native)));
    if (!Has(Defect::kSlotNotCleared)) {
      // Whoever has the pin and sees the wrapper may still look at its count; nobody sees it afterwards.
      const std::scoped_lock pin(native->pin);
      HANDOFF_SYNC_POINT(Token(*native), "clear slot");
      native->slot.store(nullptr, std::memory_order_relaxed);
      watch::WrapperWithdrawn(number);
    }
  }
  watch::WrapperGone(number);
  delete wrapper;
  // Last, and detached: it may be the native object's end, which may wait for anything.
  const Detached detached(thread);
  count::Drop(thread, native);
}

// Takes a reference for the weak reference's sake: null if the wrapper is going, or gone.
bool TryTakeWrapper(int thread, CountNative& native) {
  const Attached attached(thread, *native.home);
  if (Has(Defect::kTryIncrefUnpinned)) {
    HANDOFF_SYNC_POINT(Token(native), "load slot");
    CountWrapper* wrapper = native.slot.load(std::memory_order_acquire);
    return wrapper != nullptr && TryIncref(thread, wrapper);
  }
  const std::scoped_lock pin(native.pin);
  HANDOFF_SYNC_POINT(Token(native), "load slot");
  CountWrapper* wrapper = native.slot.load(std::memory_order_acquire);
  if (wrapper == nullptr) return false;
  if (!Has(Defect::kIncrefForTryIncref)) return TryIncref(thread, wrapper);
  Incref(thread, wrapper);
  return true;
}

// The order of python/pytorch's first version: count first, look after the wrapper later.
CountNative* LockCountsFirst(int thread, CountNative* weak) {
  std::uint64_t seen = LoadWord(*weak);
  do {
    if (CountNative::Strong(seen) == 0) return nullptr;
    HANDOFF_SYNC_POINT(Token(*weak), "count up");
  } while (
      !weak->word.compare_exchange_weak(seen, seen + CountNative::kStrong, std::memory_order_acquire, std::memory_order_relaxed));
  if (CountNative::Strong(seen) == 1 && HasWrapper(*weak, seen)) TakeWrapper(thread, *weak);
  return weak;
}

// The first wrapper is in the slot; now the counts must say so. The reference that others' strong references call for is taken
// before the flag can be seen, and given back if they went meanwhile.
void RaiseFlag(int thread, CountNative& native, CountWrapper* wrapper) {
  bool taken = false;
  std::uint64_t seen = LoadWord(native);
  for (;;) {
    if (CountNative::Strong(seen) > 1 && !taken && !Has(Defect::kFlagBeforeIncref)) {
      Incref(thread, wrapper);
      taken = true;
    }
    HANDOFF_SYNC_POINT(Token(native), "raise flag");
    if (Has(Defect::kFlagInWordOfItsOwn)) {
      native.flag.store(true, std::memory_order_release);
      break;
    }
    // Release: whoever sees the flag finds the wrapper in the slot. Acquire: for the next round, and against nothing else.
    if (native.word.compare_exchange_weak(seen, seen | kHasWrapper, std::memory_order_acq_rel, std::memory_order_acquire)) break;
  }
  const bool shared = CountNative::Strong(seen) > 1;
  if (Has(Defect::kFlagBeforeIncref) && shared) {
    Incref(thread, wrapper);
    taken = true;
  }
  if (taken && shared) {
    watch::NativeOwns(native.number, +1);
  } else if (taken && !Has(Defect::kNoUndo)) {
    Decref(thread, wrapper);
  }
}

// Puts a new wrapper into the empty slot, or finds that somebody was faster.
CountWrapper* Publish(CountNative& native, CountWrapper* wrapper) {
  CountWrapper* seen = nullptr;
  if (Has(Defect::kSlotCheckedThenStored)) {
    HANDOFF_SYNC_POINT(Token(native), "load slot");
    seen = native.slot.load(std::memory_order_acquire);
    if (seen != nullptr) return seen;
    HANDOFF_SYNC_POINT(Token(native), "fill slot");
    native.slot.store(wrapper, std::memory_order_release);
    watch::WrapperPublished(wrapper->number);
    return wrapper;
  }
  HANDOFF_SYNC_POINT(Token(native), "fill slot");
  // Release: the wrapper's fields come before it. Acquire: the winner's, if it is not ours.
  if (!native.slot.compare_exchange_strong(seen, wrapper, std::memory_order_acq_rel, std::memory_order_acquire)) return seen;
  watch::WrapperPublished(wrapper->number);
  return wrapper;
}

// Another thread's wrapper is the one. Ours goes, and with it the strong reference that was moved into it; so the winner's is
// taken first, while that reference still keeps it alive.
CountWrapper* TakeWinner(int thread, CountWrapper* own, CountWrapper* winner) {
  if (Has(Defect::kLoserDropsFirst)) {
    Decref(thread, own);
    Incref(thread, winner);
  } else {
    Incref(thread, winner);
    Decref(thread, own);
  }
  return winner;
}

}  // namespace

CountWrapper::CountWrapper(CountNative* of) : CountWrapper(of, watch::WrapperMade(of->number)) {}
CountWrapper::CountWrapper(CountNative* of, int wrapper_number)
    : Object(*of->home, DeallocWrapper, watch::WrapperToken(wrapper_number)), native(of), number(wrapper_number) {}

namespace count {

CountNative* New(Runtime& home) {
  auto* native = new CountNative;
  native->home = &home;
  native->number = watch::NativeMade();
  return native;
}

CountNative* Copy(int thread, CountNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "copy");
  // Relaxed: the caller holds the object already. What must not be missed is the number: whoever makes it 2 takes the wrapper.
  const std::uint64_t before = native->word.fetch_add(CountNative::kStrong, std::memory_order_relaxed);
  if (CountNative::Strong(before) == 1 && HasWrapper(*native, before) && !Has(Defect::kCopyWithoutIncref))
    TakeWrapper(thread, *native);
  return native;
}

void Drop(int thread, CountNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "drop");
  // Release: our uses come before the end. Acquire: whoever ends it, or gives the wrapper back, sees those of all others.
  const std::uint64_t before = native->word.fetch_sub(CountNative::kStrong, std::memory_order_acq_rel);
  if (CountNative::Strong(before) == 2 && HasWrapper(*native, before)) GiveWrapperBack(thread, *native);
  if (CountNative::Strong(before) == 1) EndStrong(native);
}

void CopyWeak(CountNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "copy weak");
  native->word.fetch_add(CountNative::kWeak, std::memory_order_relaxed);  // the caller's own reference keeps the memory
}

void DropWeak(CountNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "drop weak");
  // As in Drop, for the memory instead of the object.
  if (CountNative::Weak(native->word.fetch_sub(CountNative::kWeak, std::memory_order_acq_rel)) == 1) delete native;
}

CountNative* Lock(int thread, CountNative* weak) {
  if (Has(Defect::kLockCountsFirst)) return LockCountsFirst(thread, weak);
  bool taken = false;
  std::uint64_t seen = LoadWord(*weak);
  for (;;) {
    if (CountNative::Strong(seen) == 0) return nullptr;
    // The wrapper is the only owner: it must not go while we come.
    if (CountNative::Strong(seen) == 1 && (seen & kHasWrapper) != 0 && !taken) {
      if (!TryTakeWrapper(thread, *weak)) return nullptr;
      taken = true;
    }
    HANDOFF_SYNC_POINT(Token(*weak), "count up");
    // Acquire: what the owners wrote comes with the count that we got from them.
    if (weak->word.compare_exchange_weak(seen, seen + CountNative::kStrong, std::memory_order_acquire, std::memory_order_acquire))
      break;
  }
  // Ours is the reference of the native side now, unless somebody else has brought one with a strong reference of his own.
  if (taken) watch::NativeOwns(weak->number, +1);
  if (taken && CountNative::Strong(seen) != 1) GiveWrapperBack(thread, *weak);
  return weak;
}

CountWrapper* Wrap(int thread, CountNative* native, bool moved) {
  HANDOFF_SYNC_POINT(Token(*native), "load slot");
  // Acquire: the wrapper's fields. It is alive as long as the caller's strong reference is there (C8).
  CountWrapper* wrapper = native->slot.load(std::memory_order_acquire);
  if (wrapper != nullptr) {
    Incref(thread, wrapper);
    if (moved) Drop(thread, native);
    watch::WrapperReturned(native->number, wrapper->number);
    return wrapper;
  }
  auto* own = new CountWrapper(moved ? native : Copy(thread, native));
  wrapper = Publish(*native, own);
  if (wrapper == own) {
    RaiseFlag(thread, *native, own);
  } else {
    TakeWinner(thread, own, wrapper);
  }
  watch::WrapperReturned(native->number, wrapper->number);
  return wrapper;
}

CountNative* Unwrap(int thread, CountWrapper* wrapper) { return Copy(thread, wrapper->native); }

void CheckOwnership(const CountNative& native) {
  const std::uint64_t word = native.word.load(std::memory_order_relaxed);
  const bool owns = (word & kHasWrapper) != 0 && CountNative::Strong(word) >= 2;
  if (watch::OwnedByNative(native.number) == (owns ? 1 : 0)) return;
  oracle::Fail(
      "protocol", "C1",
      "Native object %d has %llu strong references and %d references to its wrapper. With a wrapper it owns one if it has two "
      "strong references or more, else none.",
      native.number, static_cast<unsigned long long>(CountNative::Strong(word)), watch::OwnedByNative(native.number));
}

}  // namespace count

}  // namespace handoff::interpreter
