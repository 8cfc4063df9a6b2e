#include "harness/subjects/cache/progress.h"

#include "harness/case/case.h"
#include "harness/oracle/verdict.h"

namespace handoff::cache::progress {
namespace {

bool holds[kMaxThreads];     // each by its thread only
bool looks_up[kMaxThreads];  // the same; without a lock

void Check(int thread, const char* does) {
  if (looks_up[thread]) {
    oracle::Fail("lock-order", "invariant 10", "%c %s in a lookup of a table whose readers take no lock. Readers never block.",
                 'A' + thread, does);
  }
  if (!holds[thread]) return;
  oracle::Fail("lock-order", "invariant 10",
               "%c %s while it holds a table's lock. Give the lock back first: others may wait for it, and this thread for them.",
               'A' + thread, does);
}

}  // namespace

void Reset() {
  for (bool& held : holds) held = false;
  for (bool& looking : looks_up) looking = false;
}

void Wants(int thread) { Check(thread, "waits for a table's lock"); }
void Got(int thread) { holds[thread] = true; }
void Gives(int thread) { holds[thread] = false; }

void RunsCallback(int thread) { Check(thread, "runs a callback"); }
void Attaches(int thread) { Check(thread, "waits to attach"); }

LockFreeLookup::LockFreeLookup(int thread) : thread_(thread) { looks_up[thread] = true; }
LockFreeLookup::~LockFreeLookup() { looks_up[thread_] = false; }

}  // namespace handoff::cache::progress
