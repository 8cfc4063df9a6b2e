// The oracle for invariant 10, progress: a table's lock is held for nothing but a look into the table.
//
// With it in the hand no thread runs a callback (a), waits to attach (b), or takes another table's lock (c). Nobody can then wait
// for the lock for longer than a probe takes, whatever the others do. Not instrumented, so it orders nothing. All functions: the
// thread that is named, at any time; Reset: the driver, before an execution.
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

}  // namespace handoff::cache::progress
