#include "harness/subjects/cache/dispatch_table.h"

#include <atomic>
#include <utility>

#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache {
namespace {

// What stands for a bucket, or for the pointer to the block, at scheduling points: the blocks' own addresses depend on an
// allocator.
const void* Token(int table, std::size_t index) {
  static constexpr char kTokens[watch::kMaxOwners][kMaxSize + 1] = {};
  return &kTokens[table][index];
}

std::size_t IndexOf(const Block& block, const Place& place) {
  return static_cast<std::size_t>(place.bucket - block.buckets.get());
}

// The size that the next insertion needs, by a rule like the one that numpy's tables had while they retained nothing.
std::size_t Shrunk(const Block& block) {
  std::size_t size = IsHalfFull(block) ? block.size * 2 : block.size;
  while ((block.used + 1) * 4 < size && size > kFirstSize) size /= 2;
  return size;
}

// Makes the buckets of an outgrown block empty again.
void Clear(Block& block) {
  for (std::size_t i = 0; i < block.size; ++i) std::atomic_ref(block.buckets[i].value).store(nullptr, std::memory_order_relaxed);
}

// Acquire: whoever stored this value wrote the bucket's key, and the implementation, before.
const Implementation* LoadAcquiring(Block& block, std::size_t index, int table) {
  HANDOFF_SYNC_POINT(Token(table, index % kMaxSize), "load value");
  return std::atomic_ref(block.buckets[index].value).load(std::memory_order_acquire);
}

}  // namespace

using HoldingMutex = Holding<std::unique_lock<std::mutex>>;
using Reading = Holding<std::shared_lock<std::shared_mutex>>;
using Writing = Holding<std::unique_lock<std::shared_mutex>>;

// --- locked ---

const Implementation* LockedTable::Get(int thread, const Key& key) {
  HoldingMutex lock(thread, locks->writers, std::defer_lock);
  if (!Has(Defect::kTableWithoutLock)) lock.Take();
  return table_.Get(key);
}

const Implementation* LockedTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  HoldingMutex lock(thread, locks->writers, std::defer_lock);
  if (!Has(Defect::kTableWithoutLock)) lock.Take();
  return table_.SetDefault(key, value);
}

const Implementation* LockedTable::Replace(int thread, const Key& key, const Implementation* value) {
  HoldingMutex lock(thread, locks->writers, std::defer_lock);
  if (!Has(Defect::kTableWithoutLock)) lock.Take();
  return table_.Replace(key, value);
}

void LockedTable::Grow(int thread) {
  HoldingMutex lock(thread, locks->writers, std::defer_lock);
  if (!Has(Defect::kTableWithoutLock)) lock.Take();
  table_.Grow();
}

// --- shared ---

const Implementation* SharedTable::Get(int thread, const Key& key) {
  const Reading lock(thread, locks->readers_writers);
  return table_.Get(key);
}

const Implementation* SharedTable::GetFast(int thread, const Key& key) {
  Reading lock(thread, locks->readers_writers, std::defer_lock);
  if (!Has(Defect::kSecondReaderWithoutLock)) lock.Take();
  return table_.Get(key);
}

const Implementation* SharedTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  const Writing lock(thread, locks->readers_writers);
  return table_.SetDefault(key, value);
}

const Implementation* SharedTable::Replace(int thread, const Key& key, const Implementation* value) {
  const Writing lock(thread, locks->readers_writers);
  return table_.Replace(key, value);
}

void SharedTable::Grow(int thread) {
  const Writing lock(thread, locks->readers_writers);
  table_.Grow();
}

// --- lock-free readers ---

const Implementation* LockFreeTable::Get(int thread, const Key& key) {
  const progress::LockFreeLookup lookup(thread);
  HANDOFF_SYNC_POINT(Token(number_, kMaxSize), "load table");
  // Acquire: the block was filled before it was published.
  Block* block = std::atomic_ref(block_).load(std::memory_order_acquire);
  const Place place = Probe(*block, key, &LoadAcquiring, number_);
  if (Has(Defect::kSlotLoadedAgain)) return LoadAcquiring(*block, IndexOf(*block, place), number_);
  if (place.value == nullptr && Has(Defect::kReaderLocksAfterMiss)) {
    const HoldingMutex lock(thread, locks->writers);
    return Probe(*block_, key, &LoadPlainly, number_).value;
  }
  // The value of the load that ended the probe: by now the bucket may hold another key's.
  return place.value;
}

const Implementation* LockFreeTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  HoldingMutex lock(thread, locks->writers, std::defer_lock);
  if (!Has(Defect::kGrowOutsideLock)) lock.Take();
  MakeRoom();
  if (!lock.IsTaken()) lock.Take();
  // Plain loads: nobody else writes while we hold the mutex.
  const Place place = Probe(*block_, key, &LoadPlainly, number_);
  if (place.value != nullptr) return place.value;
  ++block_->used;
  Fill(*block_, place, key, value);
  return value;
}

const Implementation* LockFreeTable::Replace(int thread, const Key& key, const Implementation* value) {
  Block* too_early = nullptr;
  if (Has(Defect::kReplaceInOldTable)) too_early = std::atomic_ref(block_).load(std::memory_order_acquire);
  const HoldingMutex lock(thread, locks->writers);
  MakeRoom();
  if (Has(Defect::kReplaceCopiesTable)) Publish(Copy(*block_, block_->size));
  Block& block = too_early != nullptr ? *too_early : *block_;
  const Place place = Probe(block, key, &LoadPlainly, number_);
  if (place.value == nullptr) {
    ++block.used;
    Fill(block, place, key, value);
  } else {
    HANDOFF_SYNC_POINT(Token(number_, IndexOf(block, place) % kMaxSize), "store value");
    // Release: for the implementation's own fields. The old one is not freed: a reader may be about to use it (invariant 9).
    std::atomic_ref(place.bucket->value).store(value, std::memory_order_release);
  }
  return place.value;
}

void LockFreeTable::Grow(int thread) {
  const HoldingMutex lock(thread, locks->writers);
  if (block_->size < kMaxSize) Publish(Copy(*block_, block_->size * 2));
}

// With the mutex held. There is no rule for shrinking: a smaller block could be followed by a larger one again and again, and all
// of them are retained (numpy/numpy#30658).
void LockFreeTable::MakeRoom() {
  std::size_t size = block_->size;
  if (IsHalfFull(*block_)) size *= Has(Defect::kGrowsFourfold) ? 4 : 2;
  if (Has(Defect::kShrinksRetainedTable)) size = Shrunk(*block_);
  if (size != block_->size) Publish(Copy(*block_, size));
}

// With the mutex held. Takes over the block.
void LockFreeTable::Publish(Block* block) {
  block->previous = block_;
  HANDOFF_SYNC_POINT(Token(number_, kMaxSize), "store table");
  if (Has(Defect::kRelaxedTable)) {
    std::atomic_ref(block_).store(block, std::memory_order_relaxed);
  } else {
    // Release: readers that see the block see what is in it.
    std::atomic_ref(block_).store(block, std::memory_order_release);
  }
  if (Has(Defect::kOutgrownBlockCleared)) Clear(*block->previous);
  if (Has(Defect::kGrowFreesOldTable)) delete std::exchange(block->previous, nullptr);
}

// With the mutex held. Makes an empty bucket full.
void LockFreeTable::Fill(Block& block, const Place& place, const Key& key, const Implementation* value) {
  const std::atomic_ref slot(place.bucket->value);
  if (!Has(Defect::kValueBeforeKey)) place.bucket->key = key;
  HANDOFF_SYNC_POINT(Token(number_, IndexOf(block, place) % kMaxSize), "store value");
  if (Has(Defect::kRelaxedValue)) {
    slot.store(value, std::memory_order_relaxed);
  } else {
    // Release: a reader that sees the value sees the key and the implementation, too (invariant 7).
    slot.store(value, std::memory_order_release);
  }
  if (Has(Defect::kValueBeforeKey)) place.bucket->key = key;
}

LockFreeTable::~LockFreeTable() {
  for (Block* block = block_; block != nullptr;) delete std::exchange(block, block->previous);
}

// --- all ---

void Free(DispatchTable* table) {
  Locks* const* locks = &table->locks;
  if (!Has(Defect::kLockAfterTable)) (*locks)->taken = false;
  delete table;
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): the twin means it
  if (Has(Defect::kLockAfterTable)) (*locks)->taken = false;
}

}  // namespace handoff::cache
