// The identity-hash dispatch table in three correct forms: a mutex; a reader-writer lock; readers without a lock.
//
// What the forms have in common: `Get` and `SetDefault` may be called by any thread at any time while the table lives. A caller
// that misses finds out the value without any lock, since that may run foreign code, which may use this table again (invariant
// 10), and then goes on with what `SetDefault` returns, not with what it offered (invariants 1 and 5). Keys and values are not
// owned. Freeing a table must happen after all calls (invariant 11).
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>

#include "harness/subjects/cache/block.h"

namespace handoff::cache {

// The locks of one table. Not part of it: they come from a pool whose addresses do not depend on an allocator, so that strategies
// that compare objects see the same ones in every run of a case.
struct Locks {
  std::mutex writers;                 // forms `locked` and `lock_free`
  std::shared_mutex readers_writers;  // form `shared`
  std::mutex resolving;               // unused but by a twin
  bool taken = false;                 // by a table; written by whoever makes and frees that
};

class DispatchTable {
 public:
  // `number` is unique in an execution. `from_pool` outlives the table.
  DispatchTable(int number, Locks& from_pool) : locks(&from_pool), number_(number) { from_pool.taken = true; }
  DispatchTable(const DispatchTable&) = delete;
  DispatchTable& operator=(const DispatchTable&) = delete;
  virtual ~DispatchTable() = default;

  // The value of the key, or null.
  virtual const Implementation* Get(const Key& key) = 0;
  // The same, as written down a second time in a fast path.
  virtual const Implementation* GetFast(const Key& key) { return Get(key); }
  // The value that the key has from now on: the one there was, or else `value`.
  virtual const Implementation* SetDefault(const Key& key, const Implementation* value) = 0;
  // Sets the value and returns the one there was, or null.
  virtual const Implementation* Replace(const Key& key, const Implementation* value) = 0;
  // Doubles the table, up to kMaxSize.
  virtual void Grow() = 0;
  // On the driver: invariants 6 to 8.
  virtual void Check() = 0;

  Locks* const locks;  // not owned

 protected:
  const int number_;
};

// One mutex for everything: the simplest, and right.
class LockedTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  const Implementation* Get(const Key& key) override;
  const Implementation* SetDefault(const Key& key, const Implementation* value) override;
  const Implementation* Replace(const Key& key, const Implementation* value) override;
  void Grow() override;
  void Check() override { CheckBlocks(*block_); }

 private:
  std::unique_lock<std::mutex> Hold();

  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);  // guarded by locks->writers
};

// Readers share the lock. In an interpreter, it must be waited for detached: a waiter that is attached stops whoever holds the
// lock and waits for all others to stop (numpy/numpy#28577).
class SharedTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  const Implementation* Get(const Key& key) override;
  const Implementation* GetFast(const Key& key) override;
  const Implementation* SetDefault(const Key& key, const Implementation* value) override;
  const Implementation* Replace(const Key& key, const Implementation* value) override;
  void Grow() override;
  void Check() override { CheckBlocks(*block_); }

 private:
  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);  // guarded by locks->readers_writers
};

// Writers take a mutex, readers nothing. Blocks that were outgrown are kept, since readers may be in them, and never change
// again: a reader of an old block answers what was right at some moment since it began.
class LockFreeTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  ~LockFreeTable() override;
  const Implementation* Get(const Key& key) override;
  const Implementation* SetDefault(const Key& key, const Implementation* value) override;
  const Implementation* Replace(const Key& key, const Implementation* value) override;
  void Grow() override;
  void Check() override { CheckBlocks(*block_); }

 private:
  void Publish(Block* block);
  void Fill(Block& block, const Place& place, const Key& key, const Implementation* value);

  // Readers through std::atomic_ref; written with the mutex held. Owned, and so are its predecessors.
  Block* block_ = new Block(kFirstSize);
};

// The locks are given back before the table is freed, so that nothing of the table is read afterwards (invariant 11).
void Free(DispatchTable* table);

}  // namespace handoff::cache
