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

class Entered {
 public:
  Entered(int thread, Side& side) : thread_(thread), side_(side), entered_(side.Enter(thread, before_)) {}
  ~Entered() { side_.Leave(thread_, before_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  const int thread_;
  Side& side_;
  Before before_;
  const bool entered_;
};

// The native side's reference to its wrapper. The strong count was just taken from 1 to 2 by somebody who holds the wrapper, or
// by its only other owner, so it is alive; acquire: its fields were written before it was put into the slot. Of an interpreter
// that has ended nothing is taken and nothing given back.
void TakeWrapper(int thread, CountNative& native) {
  const Entered entered(thread, native.side);
  if (!entered) return;
  HANDOFF_SYNC_POINT(Token(native), "load slot");
  native.side.Incref(thread, native.slot.load(std::memory_order_acquire));
  watch::NativeOwns(native.number, +1);
}

void GiveWrapperBack(int thread, CountNative& native) {
  const Entered entered(thread, native.side);
  if (!entered) return;
  HANDOFF_SYNC_POINT(Token(native), "load slot");
  void* wrapper = native.slot.load(std::memory_order_acquire);
  watch::NativeOwns(native.number, -1);
  native.side.Decref(thread, wrapper);
}

// All strong references are gone, and with them the weak one that they had together.
void EndStrong(CountNative* native) {
  watch::NativeGone(native->number);
  count::DropWeak(native);
}

bool TryTakeWrapper(int thread, CountNative& native) {
  const Entered entered(thread, native.side);
  return entered && native.side.TryTake(thread, native);
}

// The order of PyTorch's first version: count first, look after the wrapper later.
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
void RaiseFlag(int thread, CountNative& native, void* wrapper) {
  bool taken = false;
  std::uint64_t seen = LoadWord(native);
  for (;;) {
    if (CountNative::Strong(seen) > 1 && !taken && !Has(Defect::kFlagBeforeIncref)) {
      native.side.Incref(thread, wrapper);
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
    native.side.Incref(thread, wrapper);
    taken = true;
  }
  if (taken && shared) {
    watch::NativeOwns(native.number, +1);
  } else if (taken && !Has(Defect::kNoUndo)) {
    native.side.Decref(thread, wrapper);
  }
}

// Puts a new wrapper into the empty slot, or finds that somebody was faster.
void* Publish(int thread, CountNative& native, void* wrapper) {
  void* seen = nullptr;
  if (Has(Defect::kSlotCheckedThenStored)) {
    HANDOFF_SYNC_POINT(Token(native), "load slot");
    seen = native.slot.load(std::memory_order_acquire);
    if (seen != nullptr) return seen;
    HANDOFF_SYNC_POINT(Token(native), "fill slot");
    native.slot.store(wrapper, std::memory_order_release);
  } else {
    HANDOFF_SYNC_POINT(Token(native), "fill slot");
    // Release: the wrapper's fields come before it. Acquire: the winner's, if it is not ours.
    if (!native.slot.compare_exchange_strong(seen, wrapper, std::memory_order_acq_rel, std::memory_order_acquire)) return seen;
  }
  watch::WrapperPublished(native.side.Number(wrapper));
  native.side.Published(thread, native, wrapper);
  return wrapper;
}

// Another thread's wrapper is the one. Ours goes, and with it the strong reference that was moved into it; so the winner's is
// taken first, while that reference still keeps it alive.
void TakeWinner(int thread, Side& side, void* own, void* winner) {
  if (Has(Defect::kLoserDropsFirst)) side.Decref(thread, own);
  side.Incref(thread, winner);
  if (!Has(Defect::kLoserDropsFirst)) side.Decref(thread, own);
}

}  // namespace

CountNative::CountNative(Side& of) : side(of), number(watch::NativeMade()) {}

namespace count {

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
  if (CountNative::Weak(native->word.fetch_sub(CountNative::kWeak, std::memory_order_acq_rel)) == 1) native->side.Free(native);
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

void* Wrap(int thread, CountNative* native, bool moved) {
  Side& side = native->side;
  HANDOFF_SYNC_POINT(Token(*native), "load slot");
  // Acquire: the wrapper's fields. It is alive as long as the caller's strong reference is there (C8).
  void* wrapper = native->slot.load(std::memory_order_acquire);
  if (wrapper != nullptr) {
    side.Incref(thread, wrapper);
    if (moved) Drop(thread, native);
  } else {
    void* own = side.NewWrapper(thread, moved ? native : Copy(thread, native));
    wrapper = Publish(thread, *native, own);
    if (wrapper == own) {
      RaiseFlag(thread, *native, own);
    } else {
      TakeWinner(thread, side, own, wrapper);
    }
  }
  watch::WrapperReturned(native->number, side.Number(wrapper));
  return wrapper;
}

void CheckDealloc(CountNative& native, int wrapper) { watch::DeallocBegins(wrapper, CountNative::Strong(LoadWord(native))); }

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
