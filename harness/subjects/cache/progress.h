// The oracle for invariant 10, progress: a table's lock is held for nothing but a look into the table, and where readers need no
// lock they take none.
//
// With the lock in the hand no thread runs a callback (a), waits to attach (b), or takes another table's lock (c). Nobody can
// then wait for the lock for longer than a probe takes, whatever the others do. A lookup of the lock-free form does none of these
// at all: readers never block. Not instrumented, so it orders nothing. All functions: the thread that is named, at any time;
// Reset: the driver, before an execution.
#pragma once

namespace handoff::cache::progress {

void Reset();

// Around a table's lock: before the wait, after it, and before it is given back.
void Wants(int thread);
void Got(int thread);
void Gives(int thread);

// Right before a callback runs, and before the thread waits to attach.
void RunsCallback(int thread);
void Attaches(int thread);

// A lookup that must never wait, as long as this lives.
class LockFreeLookup {
 public:
  explicit LockFreeLookup(int thread);
  ~LockFreeLookup();
  LockFreeLookup(const LockFreeLookup&) = delete;
  LockFreeLookup& operator=(const LockFreeLookup&) = delete;

 private:
  const int thread_;
};

}  // namespace handoff::cache::progress
