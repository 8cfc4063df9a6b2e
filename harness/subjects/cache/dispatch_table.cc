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

// Before an insertion, with the lock held for writing.
void MakeRoom(std::unique_ptr<Block>& block) {
  if (IsHalfFull(*block)) block.reset(Copy(*block, block->size * 2));
}

const Implementation* SetDefaultPlainly(std::unique_ptr<Block>& block, const Key& key, const Implementation* value) {
  MakeRoom(block);
  const Place place = Probe(*block, key, &LoadPlainly, 0);
  if (place.value != nullptr) return place.value;
  *place.bucket = {value, key};
  ++block->used;
  return value;
}

const Implementation* ReplacePlainly(std::unique_ptr<Block>& block, const Key& key, const Implementation* value) {
  MakeRoom(block);
  const Place place = Probe(*block, key, &LoadPlainly, 0);
  *place.bucket = {value, key};
  if (place.value == nullptr || Has(Defect::kReplaceCountsTwice)) ++block->used;
  return place.value;
}

void GrowPlainly(std::unique_ptr<Block>& block) {
  if (block->size < kMaxSize) block.reset(Copy(*block, block->size * 2));
}

// Acquire: whoever stored this value wrote the bucket's key, and the implementation, before.
const Implementation* LoadAcquiring(Block& block, std::size_t index, int table) {
  HANDOFF_SYNC_POINT(Token(table, index % kMaxSize), "load value");
  return std::atomic_ref(block.buckets[index].value).load(std::memory_order_acquire);
}

}  // namespace

// --- locked ---

std::unique_lock<std::mutex> LockedTable::Hold() {
  std::unique_lock lock(locks->writers, std::defer_lock);
  if (!Has(Defect::kTableWithoutLock)) lock.lock();
  return lock;
}

const Implementation* LockedTable::Get(const Key& key) {
  const auto lock = Hold();
  return Probe(*block_, key, &LoadPlainly, number_).value;
}

const Implementation* LockedTable::SetDefault(const Key& key, const Implementation* value) {
  const auto lock = Hold();
  return SetDefaultPlainly(block_, key, value);
}

const Implementation* LockedTable::Replace(const Key& key, const Implementation* value) {
  const auto lock = Hold();
  return ReplacePlainly(block_, key, value);
}

void LockedTable::Grow() {
  const auto lock = Hold();
  GrowPlainly(block_);
}

// --- shared ---

const Implementation* SharedTable::Get(const Key& key) {
  const std::shared_lock lock(locks->readers_writers);
  return Probe(*block_, key, &LoadPlainly, number_).value;
}

const Implementation* SharedTable::GetFast(const Key& key) {
  std::shared_lock lock(locks->readers_writers, std::defer_lock);
  if (!Has(Defect::kSecondReaderWithoutLock)) lock.lock();
  return Probe(*block_, key, &LoadPlainly, number_).value;
}

const Implementation* SharedTable::SetDefault(const Key& key, const Implementation* value) {
  const std::unique_lock lock(locks->readers_writers);
  return SetDefaultPlainly(block_, key, value);
}

const Implementation* SharedTable::Replace(const Key& key, const Implementation* value) {
  const std::unique_lock lock(locks->readers_writers);
  return ReplacePlainly(block_, key, value);
}

void SharedTable::Grow() {
  const std::unique_lock lock(locks->readers_writers);
  GrowPlainly(block_);
}

// --- lock-free readers ---

const Implementation* LockFreeTable::Get(const Key& key) {
  HANDOFF_SYNC_POINT(Token(number_, kMaxSize), "load table");
  // Acquire: the block was filled before it was published.
  Block* block = std::atomic_ref(block_).load(std::memory_order_acquire);
  const Place place = Probe(*block, key, &LoadAcquiring, number_);
  if (Has(Defect::kSlotLoadedAgain)) return LoadAcquiring(*block, IndexOf(*block, place), number_);
  // The value of the load that ended the probe: by now the bucket may hold another key's.
  return place.value;
}

const Implementation* LockFreeTable::SetDefault(const Key& key, const Implementation* value) {
  std::unique_lock lock(locks->writers, std::defer_lock);
  if (!Has(Defect::kGrowOutsideLock)) lock.lock();
  if (IsHalfFull(*block_)) Publish(Copy(*block_, block_->size * (Has(Defect::kGrowsFourfold) ? 4 : 2)));
  if (!lock.owns_lock()) lock.lock();
  // Plain loads: nobody else writes while we hold the mutex.
  const Place place = Probe(*block_, key, &LoadPlainly, number_);
  if (place.value != nullptr) return place.value;
  ++block_->used;
  Fill(*block_, place, key, value);
  return value;
}

const Implementation* LockFreeTable::Replace(const Key& key, const Implementation* value) {
  Block* too_early = nullptr;
  if (Has(Defect::kReplaceInOldTable)) too_early = std::atomic_ref(block_).load(std::memory_order_acquire);
  const std::lock_guard lock(locks->writers);
  if (IsHalfFull(*block_)) Publish(Copy(*block_, block_->size * 2));
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

void LockFreeTable::Grow() {
  const std::lock_guard lock(locks->writers);
  if (block_->size < kMaxSize) Publish(Copy(*block_, block_->size * 2));
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
  if (Has(Defect::kLockAfterTable)) (*locks)->taken = false;
}

}  // namespace handoff::cache
