// Why nobody can run: who waits for what, who could end it, and the cycle where there are owners.
#include "harness/schedule/state.h"

namespace handoff::schedule {
namespace {

// The text of the finding. Built by hand: this file must not pull library templates or locale code in.
char text[2048];
std::size_t length = 0;

void Add(const char* part) {
  while (*part != '\0' && length + 1 < sizeof text) text[length++] = *part++;
  text[length] = '\0';
}
void AddNumber(unsigned number) {
  char digits[12];
  int i = sizeof digits - 1;
  digits[i] = '\0';
  do {
    digits[--i] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Add(digits + i);
}
void AddThread(int id) {
  const char name[] = {ThreadName(id), '\0'};
  Add(name);
}

int OwnerOf(const Thread& thread) {
  if (thread.waits_on == WaitOn::kJoin) {
    for (int i = 0; i < state.count; ++i) {
      if (&state.threads[i] == thread.object) return i;
    }
  }
  const Owner* owner = FindOwner(thread.object);
  return owner != nullptr ? owner->thread : -1;
}

const char* WhoCouldWake(WaitOn on) {
  switch (on) {
    case WaitOn::kCondition:
      return "which only a signal or broadcast could end";
    case WaitOn::kSemaphore:
      return "which only a post could end";
    case WaitOn::kBarrier:
      return "which only the missing threads could end";
    case WaitOn::kFutex:
      return "which only a notify could end";
    case WaitOn::kForever:
      return "which nobody ends";
    default:
      return "which is held by a thread outside the schedule";
  }
}

void AddWaiter(int id) {
  const Thread& thread = state.threads[id];
  AddThread(id);
  Add(" waits for ");
  Add(WaitName(thread.waits_on));
  if (thread.waits_on != WaitOn::kForever && thread.waits_on != WaitOn::kJoin) {
    Add(" #");
    AddNumber(ObjectNumber(thread.object));
  }
  const int owner = OwnerOf(thread);
  if (thread.waits_on == WaitOn::kJoin) {
    Add(" of ");
    if (owner >= 0) AddThread(owner);
  } else if (owner >= 0) {
    Add(" held by ");
    AddThread(owner);
    if (owner == id) Add(" itself");
    if (state.threads[owner].state == ThreadState::kDone) Add(", which has ended without releasing it");
  } else {
    Add(", ");
    Add(WhoCouldWake(thread.waits_on));
  }
  if (thread.timeouts > 0 && thread.limit != kNoLimit) Add(", and comes back each time that it times out");
  Add(". ");
}

// Follows owners from `start`; writes the cycle if it comes back to where it was.
bool AddCycle(int start) {
  int path[kMaxControlled] = {};
  int steps = 0;
  ThreadSet seen = 0;
  int at = start;
  while (at >= 0 && !Has(seen, at)) {
    seen |= Only(at);
    path[steps++] = at;
    at = state.threads[at].state == ThreadState::kWaiting ? OwnerOf(state.threads[at]) : -1;
  }
  if (at < 0) return false;
  int first = 0;
  while (path[first] != at) ++first;
  Add("Cycle: ");
  for (int i = first; i < steps; ++i) {
    AddThread(path[i]);
    Add(" -> ");
  }
  AddThread(at);
  Add(".");
  return true;
}

}  // namespace

const char* WaitName(WaitOn on) {
  switch (on) {
    case WaitOn::kNothing:
      return "nothing";
    case WaitOn::kMutex:
      return "mutex";
    case WaitOn::kReadLock:
      return "read lock";
    case WaitOn::kWriteLock:
      return "write lock";
    case WaitOn::kCondition:
      return "condition variable";
    case WaitOn::kSemaphore:
      return "semaphore";
    case WaitOn::kOnce:
      return "once-flag";
    case WaitOn::kGuard:
      return "static guard";
    case WaitOn::kBarrier:
      return "barrier";
    case WaitOn::kFutex:
      return "futex";
    case WaitOn::kJoin:
      return "the end";
    case WaitOn::kSleep:
      return "sleep";
    case WaitOn::kForever:
      return "ever";
  }
  return "nothing";
}

void FailDeadlock() {
  length = 0;
  Add("All threads that have not ended wait. ");
  for (int i = 0; i < state.count; ++i) {
    if (state.threads[i].state == ThreadState::kWaiting) AddWaiter(i);
  }
  for (int i = 0; i < state.count; ++i) {
    if (state.threads[i].state == ThreadState::kWaiting && AddCycle(i)) break;
  }
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
  Fail(FailureKind::kDeadlock, text);
}

}  // namespace handoff::schedule
