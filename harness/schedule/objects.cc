// Numbers and owners of the objects that an execution touches, by address but without ever showing one.
#include <iterator>

#include "harness/schedule/state.h"

namespace handoff::schedule {
namespace {

// Slots of both tables: far more than the objects of one execution, so that probing stays short. What does not fit has no number.
// Owners must fit, or a lock would be waited for that is free: the slot of one that nobody holds any more is taken again.
constexpr std::uint32_t kSlots = 2048;
constexpr std::uint32_t kProbes = 64;

// Forgetting all entries means counting the run up: an entry of another run is empty.
std::uint32_t run = 1;

struct Numbered {
  const void* object;
  std::uint32_t run;
  std::uint32_t number;
};
Numbered numbers[kSlots];
std::uint32_t last_number = 0;

struct Owned {
  const void* object;
  std::uint32_t run;
  Owner owner;
  ThreadSet readers;  // of a read-write lock, so that one that still reads is named
  TakenAt taken;      // if stacks are kept
};
Owned owners[kSlots];
bool robust_seen = false;  // in this run

std::uint32_t Slot(const void* object) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(object) * 0x9E3779B97F4A7C15ULL >> 53);
}

// The entry of `object`; else the one where it would go: empty, or of an object that nobody owns any more; null if there is none.
Owned* Find(const void* object) {
  Owned* free = nullptr;
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    Owned& entry = owners[(Slot(object) + i) % kSlots];
    if (entry.run == run && entry.object == object) return &entry;
    if (free == nullptr && (entry.run != run || (entry.owner.depth == 0 && !entry.owner.abandoned))) free = &entry;
    if (entry.run != run) break;
  }
  return free;
}
Owned* FindKnown(const void* object) {
  Owned* entry = Find(object);
  return entry != nullptr && entry->run == run && entry->object == object ? entry : nullptr;
}

}  // namespace

std::uint32_t ObjectNumber(const void* object) {
  if (object == nullptr) return 0;
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    Numbered& entry = numbers[(Slot(object) + i) % kSlots];
    if (entry.run == run && entry.object == object) return entry.number;
    if (entry.run != run) {
      entry = Numbered{object, run, ++last_number};
      return entry.number;
    }
  }
  return 0;
}

void ForgetObjects() {
  ++run;  // owners too
  last_number = 0;
  robust_seen = false;
}

Owner* FindOwner(const void* object) {
  Owned* entry = FindKnown(object);
  return entry != nullptr && entry->owner.depth > 0 ? &entry->owner : nullptr;
}

const TakenAt* FindTaken(const void* object) {
  const Owned* entry = FindKnown(object);
  return entry != nullptr && entry->taken.count > 0 ? &entry->taken : nullptr;
}

Owner* TakeOwner(const void* object, int thread, WaitOn kind, bool robust) {
  Owned* entry = Find(object);
  if (entry == nullptr)
    Fail(FailureKind::kHarness,
         "expected at most some hundred locks to be held at once, found more than the scheduler can follow");
  if (entry->run != run || entry->object != object) *entry = Owned{object, run, Owner{}, 0, {}};
  const bool again = entry->owner.depth > 0 && entry->owner.thread == thread;
  entry->owner.thread = thread;
  entry->owner.kind = kind;
  entry->owner.robust = robust;
  entry->owner.abandoned = false;
  robust_seen = robust_seen || robust;
  if (!again && state.keeps_stacks) {
    entry->taken.thread = thread;
    entry->taken.count = ReadFrames(entry->taken.frames, static_cast<int>(std::size(entry->taken.frames)));
  }
  ++entry->owner.depth;
  if (kind == WaitOn::kReadLock) entry->readers |= Only(thread);
  return &entry->owner;
}

bool DropOwner(const void* object) {
  Owned* entry = FindKnown(object);
  if (entry == nullptr || entry->owner.depth == 0) return true;
  // One that reads twice is forgotten too early, and another reader is named if there is one.
  if (entry->owner.kind == WaitOn::kReadLock) entry->readers &= ~Only(Self());
  if (--entry->owner.depth > 0) {
    if (entry->readers != 0) entry->owner.thread = __builtin_ctz(entry->readers);
    return false;
  }
  entry->owner.thread = -1;
  entry->readers = 0;
  return true;
}

void DropRobustOwner(int thread) {
  if (!robust_seen) return;
  for (Owned& entry : owners) {
    if (entry.run != run || entry.owner.depth == 0 || entry.owner.thread != thread || !entry.owner.robust) continue;
    entry.owner = Owner{.abandoned = true};
    Wake(entry.object, kMaxControlled);
  }
}

bool IsAbandoned(const void* object) {
  const Owned* entry = FindKnown(object);
  return entry != nullptr && entry->owner.abandoned;
}

}  // namespace handoff::schedule
