#include "harness/subjects/interpreter/tied_word.h"

#include <sched.h>

#include <memory>

#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

constexpr std::uintptr_t kInactive = TiedNative::kInactive;
constexpr std::uintptr_t kLocked = TiedNative::kLocked;

const void* Token(const TiedNative& native) { return watch::NativeToken(native.number); }
TiedWrapper* BlockIn(std::uintptr_t word) { return reinterpret_cast<TiedWrapper*>(word & ~(kInactive | kLocked)); }
std::uintptr_t Active(const TiedWrapper* wrapper) { return reinterpret_cast<std::uintptr_t>(wrapper); }

// Detached, without the word: whoever has it may be waiting for the world to go on.
void Yield(int thread) {
  const Detached detached(thread);
  sched_yield();
}

// Returns what the word held.
std::uintptr_t Lock(int thread, TiedNative& native) {
  for (;;) {
    HANDOFF_SYNC_POINT(Token(native), "lock word");
    std::uintptr_t seen = native.word.load(std::memory_order_relaxed);
    if (Has(Defect::kTiedWithoutLock)) return seen;
    // Acquire: what the last holder wrote.
    if ((seen & kLocked) == 0 &&
        native.word.compare_exchange_weak(seen, seen | kLocked, std::memory_order_acquire, std::memory_order_relaxed)) {
      return seen;
    }
    Yield(thread);
  }
}

void Unlock(TiedNative& native, std::uintptr_t word) {
  HANDOFF_SYNC_POINT(Token(native), "unlock word");
  native.word.store(word, std::memory_order_release);  // what we wrote, for the next holder
}

void Deactivate(int thread, Object* object) {
  auto* wrapper = static_cast<TiedWrapper*>(object);
  TiedNative& native = wrapper->native;
  Lock(thread, native);
  Unlock(native, Active(wrapper) | kInactive);
  // From here on the block may be revived, and freed: it is not touched any more. Detached: it may be the native object's end.
  const Detached detached(thread);
  tied::Drop(thread, &native);
}

void Destroy(TiedNative* native) {
  // Nobody else is left, and everybody's changes to the word came before their drops.
  if (TiedWrapper* block = BlockIn(native->word.load(std::memory_order_relaxed)); block != nullptr) {
    watch::WrapperWithdrawn(block->number);
    watch::WrapperGone(block->number);
    delete block;
  }
  watch::NativeGone(native->number);
  delete native;
}

// With the word locked: the wrapper is nobody's, and the caller's from now on.
void Revive(TiedNative& native, TiedWrapper* block) {
  if (!Has(Defect::kRevivedWithoutStrong)) tied::Copy(&native);
  block->references.store(1, std::memory_order_relaxed);  // published by the unlocking
}

bool Take(int thread, TiedWrapper* wrapper) {
  if (!Has(Defect::kTiedIncref)) return TryIncref(thread, wrapper);
  Incref(thread, wrapper);
  return true;
}

}  // namespace

TiedNative::TiedNative(Runtime& of) : home(of), number(watch::NativeMade()) {}

TiedWrapper::TiedWrapper(TiedNative& of) : TiedWrapper(of, watch::WrapperMade(of.number)) {}
TiedWrapper::TiedWrapper(TiedNative& of, int wrapper_number)
    : Object(of.home, Deactivate, watch::WrapperToken(wrapper_number)), native(of), number(wrapper_number) {}

namespace tied {

TiedNative* Copy(TiedNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "copy");
  native->strong.fetch_add(1, std::memory_order_relaxed);  // the caller holds one already
  return native;
}

void Drop(int /*thread*/, TiedNative* native) {
  HANDOFF_SYNC_POINT(Token(*native), "drop");
  // Release: our uses come before the end. Acquire: whoever ends it sees those of all others.
  if (native->strong.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy(native);
}

TiedWrapper* Wrap(int thread, TiedNative* native) {
  std::unique_ptr<TiedWrapper> fresh;
  for (;;) {
    const std::uintptr_t word = Lock(thread, *native);
    TiedWrapper* block = BlockIn(word);
    if (block == nullptr && fresh == nullptr) {
      // Made without the word: an allocation may collect, and what it collects may come here.
      Unlock(*native, word);
      native->home.BeforeAllocation(thread);
      fresh = std::make_unique<TiedWrapper>(*native);
      continue;
    }
    if (block == nullptr) {
      block = fresh.release();
      watch::WrapperPublished(block->number);
      Revive(*native, block);
      Unlock(*native, Active(block));
    } else if ((word & kInactive) != 0) {
      Revive(*native, block);
      Unlock(*native, Active(block));
    } else {
      const bool taken = Take(thread, block);
      Unlock(*native, word);
      if (!taken) {  // it is going, and wants the word for that
        Yield(thread);
        continue;
      }
    }
    if (fresh != nullptr) watch::WrapperGone(fresh->number);
    watch::WrapperReturned(native->number, block->number);
    return block;
  }
}

}  // namespace tied

}  // namespace handoff::interpreter
