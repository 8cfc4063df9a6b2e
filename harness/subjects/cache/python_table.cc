#include "harness/subjects/cache/python_table.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/python_defect.h"
#include "harness/subjects/cache/python_lock.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache::cpython {
namespace {

using cache::watch::kMaxOwners;

Locks pool[kMaxOwners];

// What stands for a bucket, or for the pointer to the block, at scheduling points: the blocks' own addresses depend on an
// allocator.
const void* Token(int table, std::size_t index) {
  static constexpr char kTokens[kMaxOwners][kMaxSize + 1] = {};
  return &kTokens[table][index];
}
const void* BucketToken(int table, std::size_t index) { return Token(table, index % kMaxSize); }

std::size_t IndexOf(const Block& block, const Place& place) {
  return static_cast<std::size_t>(place.bucket - block.buckets.get());
}

// The plain table: whoever calls these is alone in it, or all who are in it only read.
const Implementation* GetPlainly(Block& block, const Key& key) { return Probe(block, key, &LoadPlainly, 0).value; }

Place MakePlace(std::unique_ptr<Block>& block, const Key& key) {
  if (IsHalfFull(*block)) block.reset(Copy(*block, block->size * 2));
  return Probe(*block, key, &LoadPlainly, 0);
}

const Implementation* SetDefaultPlainly(std::unique_ptr<Block>& block, const Key& key, const Implementation* value) {
  const Place place = MakePlace(block, key);
  if (place.value != nullptr) return place.value;
  *place.bucket = {value, key};
  ++block->used;
  return value;
}

const Implementation* ReplacePlainly(std::unique_ptr<Block>& block, const Key& key, const Implementation* value) {
  const Place place = MakePlace(block, key);
  *place.bucket = {value, key};
  if (place.value == nullptr) ++block->used;
  return place.value;
}

// Makes the buckets of an outgrown block empty again.
void Clear(Block& block) {
  for (std::size_t i = 0; i < block.size; ++i) std::atomic_ref(block.buckets[i].value).store(nullptr, std::memory_order_relaxed);
}

// Acquire: whoever stored this value wrote the bucket's key, and the object, before.
const Implementation* LoadAcquiring(Block& block, std::size_t index, int table) {
  HANDOFF_SYNC_POINT(BucketToken(table, index), "load value");
  return std::atomic_ref(block.buckets[index].value).load(std::memory_order_acquire);
}

}  // namespace

using Reading = HoldingNative<std::shared_lock<std::shared_mutex>>;
using Writing = HoldingNative<std::unique_lock<std::shared_mutex>>;

// --- locked ---

const Implementation* LockedTable::Get(int thread, const Key& key) {
  const HoldingMutex lock(thread, locks->writers);
  return GetPlainly(*block_, key);
}

const Implementation* LockedTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  const HoldingMutex lock(thread, locks->writers);
  if (Has(Defect::kReadsUnderWritersLock) && Get(thread, key) != nullptr) return Get(thread, key);
  return SetDefaultPlainly(block_, key, value);
}

const Implementation* LockedTable::Replace(int thread, const Key& key, const Implementation* value) {
  const HoldingMutex lock(thread, locks->writers);
  return ReplacePlainly(block_, key, value);
}

// --- shared ---

const Implementation* SharedTable::Get(int thread, const Key& key) {
  const Reading lock(thread, locks->readers_writers, Has(Defect::kReaderWaitsAttached));
  return GetPlainly(*block_, key);
}

const Implementation* SharedTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  const Writing lock(thread, locks->readers_writers);
  return SetDefaultPlainly(block_, key, value);
}

const Implementation* SharedTable::Replace(int thread, const Key& key, const Implementation* value) {
  const Writing lock(thread, locks->readers_writers);
  return ReplacePlainly(block_, key, value);
}

// --- lock-free ---

const Implementation* LockFreeTable::Get(int thread, const Key& key) {
  const progress::LockFreeLookup lookup(thread);
  HANDOFF_SYNC_POINT(Token(number_, kMaxSize), "load table");
  // Acquire: whoever published the block filled it before.
  Block& block = *std::atomic_ref(block_).load(std::memory_order_acquire);
  const Place place = Probe(block, key, &LoadAcquiring, number_);
  if (Has(Defect::kSlotLoadedAgain)) return LoadAcquiring(block, IndexOf(block, place), number_);
  if (place.value == nullptr && Has(Defect::kReaderLocksAfterMiss)) {
    const HoldingMutex lock(thread, locks->writers);
    return Probe(*block_, key, &LoadPlainly, number_).value;
  }
  return place.value;
}

// With the mutex held: the block to fill in, `block` or a larger copy of it.
Block& LockFreeTable::MakeRoom(Block& block) {
  if (!IsHalfFull(block)) return block;
  Block* larger = Copy(block, block.size * 2);
  larger->previous = &block;
  HANDOFF_SYNC_POINT(Token(number_, kMaxSize), "store table");
  // Release: readers that see the block see what is in it.
  std::atomic_ref(block_).store(larger, std::memory_order_release);
  if (Has(Defect::kOutgrownBlockCleared)) Clear(block);
  return *larger;
}

// With the mutex held. Makes an empty bucket full.
void LockFreeTable::Fill(Block& block, const Place& place, const Key& key, const Implementation* value) {
  place.bucket->key = key;
  HANDOFF_SYNC_POINT(BucketToken(number_, IndexOf(block, place)), "store value");
  // Release: a reader that sees the value sees the key and the object, too (invariant 7).
  std::atomic_ref(place.bucket->value).store(value, std::memory_order_release);
  ++block.used;
}

const Implementation* LockFreeTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  Block* newest = nullptr;
  if (Has(Defect::kBlockBeforeLock)) newest = std::atomic_ref(block_).load(std::memory_order_acquire);
  const HoldingMutex lock(thread, locks->writers);
  if (!Has(Defect::kBlockBeforeLock)) newest = block_;
  Block& block = MakeRoom(*newest);
  const Place place = Probe(block, key, &LoadPlainly, number_);
  if (place.value != nullptr) return place.value;
  Fill(block, place, key, value);
  return value;
}

const Implementation* LockFreeTable::Replace(int thread, const Key& key, const Implementation* value) {
  const HoldingMutex lock(thread, locks->writers);
  Block& block = MakeRoom(*block_);
  const Place place = Probe(block, key, &LoadPlainly, number_);
  if (place.value == nullptr) {
    Fill(block, place, key, value);
  } else {
    HANDOFF_SYNC_POINT(BucketToken(number_, IndexOf(block, place)), "store value");
    // Release, as above. The old value is not dropped: a reader may be about to use it (invariant 9).
    std::atomic_ref(place.bucket->value).store(value, std::memory_order_release);
  }
  return place.value;
}

LockFreeTable::~LockFreeTable() {
  for (Block* block = block_; block != nullptr;) delete std::exchange(block, block->previous);
}

// --- section ---

const Implementation* SectionTable::Get(int /*thread*/, const Key& key) { return GetPlainly(*block_, key); }

const Implementation* SectionTable::SetDefault(int /*thread*/, const Key& key, const Implementation* value) {
  return SetDefaultPlainly(block_, key, value);
}

const Implementation* SectionTable::Replace(int /*thread*/, const Key& key, const Implementation* value) {
  return ReplacePlainly(block_, key, value);
}

// --- all ---

Table* NewTable(Form form, int number) {
  if (form == Form::kLocked) return new LockedTable(number, pool[number]);
  if (form == Form::kShared) return new SharedTable(number, pool[number]);
  if (form == Form::kLockFree) return new LockFreeTable(number, pool[number]);
  return new SectionTable(number, pool[number]);
}

void Free(Table* table) {
  Locks* const* locks = &table->locks;
  if (!Has(Defect::kLockAfterTable)) (*locks)->taken = false;
  delete table;
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): the defect
  if (Has(Defect::kLockAfterTable)) (*locks)->taken = false;
}

void CheckLocks() {
  for (const Locks& locks : pool) {
    if (locks.taken) oracle::Fail("missing-delete", "locks", "The locks of a table were not given back.");
  }
}

}  // namespace handoff::cache::cpython
