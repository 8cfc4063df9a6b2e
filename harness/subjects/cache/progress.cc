#include "harness/subjects/cache/progress.h"

#include "harness/case/case.h"
#include "harness/oracle/verdict.h"

namespace handoff::cache::progress {
namespace {

bool holds[kMaxThreads];  // each by its thread only

void Check(int thread, const char* does) {
  if (!holds[thread]) return;
  oracle::Fail("lock-order", "invariant 10",
               "%c %s while it holds a table's lock. Give the lock back first: others may wait for it, and this thread for them.",
               'A' + thread, does);
}

}  // namespace

void Reset() {
  for (bool& held : holds) held = false;
}

void Wants(int thread) { Check(thread, "waits for a table's lock"); }
void Got(int thread) { holds[thread] = true; }
void Gives(int thread) { holds[thread] = false; }

void RunsCallback(int thread) { Check(thread, "runs a callback"); }
void Attaches(int thread) { Check(thread, "waits to attach"); }

}  // namespace handoff::cache::progress
