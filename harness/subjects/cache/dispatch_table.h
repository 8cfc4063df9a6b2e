// The identity-hash dispatch table in three correct forms: a mutex; a reader-writer lock; readers without a lock. Two more, which
// need an interpreter, are in attached_table.h.
//
// What the forms have in common: `Get` and `SetDefault` may be called by any thread at any time while the table lives. A caller
// that misses finds out the value without any lock, since that may run foreign code, which may use this table again (invariant
// 10), and then goes on with what `SetDefault` returns, not with what it offered (invariants 1 and 5). Keys and values are not
// owned. Freeing a table must happen after all calls (invariant 11).
#pragma once

#include <mutex>
#include <shared_mutex>

#include "harness/subjects/cache/block.h"
#include "harness/subjects/cache/critical_section.h"
#include "harness/subjects/cache/holding.h"
#include "harness/subjects/cache/plain_table.h"

namespace handoff::cache {

// The locks of one table. Not part of it: they come from a pool whose addresses do not depend on an allocator, so that strategies
// that compare objects see the same ones in every run of a case.
struct Locks {
  std::mutex writers;                 // forms `locked` and `lock_free`
  std::shared_mutex readers_writers;  // forms `shared` and `detached`
  ObjectLock section;                 // form `critical_section`: the owner's
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

  // `thread` is the caller's number. The value of the key, or null.
  virtual const Implementation* Get(int thread, const Key& key) = 0;
  // The same, as written down a second time in a fast path.
  virtual const Implementation* GetFast(int thread, const Key& key) { return Get(thread, key); }
  // The value that the key has from now on: the one there was, or else `value`.
  virtual const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) = 0;
  // Sets the value and returns the one there was, or null.
  virtual const Implementation* Replace(int thread, const Key& key, const Implementation* value) = 0;
  // Doubles the table, up to kMaxSize.
  virtual void Grow(int thread) = 0;
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
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Grow(int thread) override;
  void Check() override { table_.Check(); }

 private:
  PlainTable table_;  // guarded by locks->writers
};

// Readers share the lock. For threads that are never attached: see DetachedTable.
class SharedTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* GetFast(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Grow(int thread) override;
  void Check() override { table_.Check(); }

 private:
  PlainTable table_;  // guarded by locks->readers_writers
};

// Writers take a mutex, readers nothing. Blocks that were outgrown are kept, since readers may be in them, and never change
// again: a reader of an old block answers what was right at some moment since it began.
class LockFreeTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  ~LockFreeTable() override;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Grow(int thread) override;
  void Check() override { CheckBlocks(*block_); }

 private:
  void MakeRoom();
  void Publish(Block* block);
  void Fill(Block& block, const Place& place, const Key& key, const Implementation* value);

  // Readers through std::atomic_ref; written with the mutex held. Owned, and so are its predecessors.
  Block* block_ = new Block(kFirstSize);
};

// The locks are given back before the table is freed, so that nothing of the table is read afterwards (invariant 11).
void Free(DispatchTable* table);

}  // namespace handoff::cache
