// The dispatch table in two forms that need an interpreter. All calls: by an attached thread.
#pragma once

#include "harness/subjects/cache/dispatch_table.h"
#include "harness/subjects/cache/plain_table.h"

namespace handoff::cache {

// A reader-writer lock that is waited for, and held, detached. Whoever waits attached keeps the world from being stopped, and
// whoever has the lock may be waiting for just that: numpy/numpy#28577. Nothing in the table needs the interpreter, since keys
// are compared by identity, so the thread attaches after it has given the lock back (invariant 10); numpy 2.2.5 attaches before.
class DetachedTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Grow(int thread) override;
  void Check() override { table_.Check(); }

 private:
  PlainTable table_;  // guarded by locks->readers_writers
};

// The critical section of the owner, as numpy 2.1.2 has it. A caller may be in the same section for its whole lookup, resolution
// and insertion; since a callback suspends it, SetDefault looks the key up again. Only attached threads use the table, so whoever
// has stopped the world may read it (Check).
class SectionTable final : public DispatchTable {
 public:
  using DispatchTable::DispatchTable;
  const Implementation* Get(int thread, const Key& key) override;
  const Implementation* SetDefault(int thread, const Key& key, const Implementation* value) override;
  const Implementation* Replace(int thread, const Key& key, const Implementation* value) override;
  void Grow(int thread) override;
  void Check() override { table_.Check(); }

 private:
  PlainTable table_;  // guarded by locks->section
};

}  // namespace handoff::cache
