// The identity-hash dispatch table in the four forms that need an interpreter: a PyMutex; a reader-writer lock that is taken
// detached; lock-free readers beside writers with a PyMutex; the critical section of the function that has the table.
//
// As in dispatch_table.h, keys and values are not owned: the function keeps whatever was ever put in (invariant 9), and frees the
// table when nobody can be in it any more (invariant 11). No form runs Python code with a lock held (invariant 10).
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>

#include "harness/python/embed.h"
#include "harness/subjects/cache/block.h"

namespace handoff::cache::cpython {

enum class Form : std::uint8_t { kLocked, kShared, kLockFree, kSection };
inline constexpr int kForms = 4;

// The locks of one table. Not part of it, so that their addresses do not depend on an allocator (see dispatch_table.h).
struct Locks {
  std::shared_mutex readers_writers;  // form `shared`
  PyMutex writers{};                  // forms `locked` and `lock_free`
  bool taken = false;                 // by a table; written by whoever makes and frees that
};

// Attached threads only. Form `section`: in the function's critical section only. `thread` is the caller's number.
class Table {
 public:
  Table(int number, Locks& from_pool) : locks(&from_pool), number_(number) { from_pool.taken = true; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  // The value of the key, or null.
  virtual const Implementation* Get(int thread, const Key& key) = 0;
  // The value that the key has from now on: the one there was, or else `value`.
  virtual const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) = 0;
  // Sets the value and returns the one there was, or null.
  virtual const Implementation* Replace(int thread, const Key& key, const Implementation* value) = 0;
  // Invariants 6 to 8. By the last user.
  virtual void Check() = 0;

  Locks* const locks;  // not owned

 protected:
  const int number_;
};

// `number` is the function's, from 0 and below watch::kMaxOwners. The caller owns the table.
Table* NewTable(Form form, int number);
// Gives the locks back and then frees the table, so that nothing of it is read afterwards (invariant 11).
void Free(Table* table);
// At the end, on the driver: fails if locks of a freed table were not given back.
void CheckLocks();

// One mutex for everything: the simplest, and right.
class LockedTable final : public Table {
 public:
  using Table::Table;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Check() override { CheckBlocks(*block_); }

 private:
  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);  // guarded by locks->writers
};

// Readers share a lock.
class SharedTable final : public Table {
 public:
  using Table::Table;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Check() override { CheckBlocks(*block_); }

 private:
  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);  // guarded by locks->readers_writers
};

// Readers take no lock; blocks that were outgrown are kept for those who are still in them.
class LockFreeTable final : public Table {
 public:
  using Table::Table;
  ~LockFreeTable() override;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Check() override { CheckBlocks(*block_); }

 private:
  Block& MakeRoom(Block& block);
  void Fill(Block& block, const Place& place, const Key& key, const Implementation* value);

  // Readers through std::atomic_ref; written with locks->writers held. Owned, and so are its predecessors.
  Block* block_ = new Block(kFirstSize);
};

// No lock of its own. The section may be let go between any two calls, so an answer of Get holds no longer than until the
// caller does something that may wait: then it asks again, which is what SetDefault does.
class SectionTable final : public Table {
 public:
  using Table::Table;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Check() override { CheckBlocks(*block_); }

 private:
  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);  // guarded by the function's section
};

}  // namespace handoff::cache::cpython
