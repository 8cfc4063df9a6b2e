// Why nobody can run: who waits for what, who could end it, and the cycle where there are owners. And who waits while one goes
// round in a loop.
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

bool Waits(int id) { return state.threads[id].state == ThreadState::kWaiting; }

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
    case WaitOn::kSignal:
      return "which nobody sends";
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

// A way from thread to thread, each waiting for the next.
struct Way {
  int threads[kMaxControlled] = {};
  int length = 0;
  int cycle = -1;  // where it comes back to; -1: it ends
};

// Follows owners from `start`.
Way FollowOwners(int start) {
  Way way;
  ThreadSet seen = 0;
  int at = start;
  while (at >= 0 && !Has(seen, at)) {
    seen |= Only(at);
    way.threads[way.length++] = at;
    at = Waits(at) ? OwnerOf(state.threads[at]) : -1;
  }
  if (at < 0) return way;
  way.cycle = 0;
  while (way.threads[way.cycle] != at) ++way.cycle;
  return way;
}

// Writes the cycle that the way from `start` comes to. The threads of it; none if there is none.
ThreadSet AddCycle(int start) {
  const Way way = FollowOwners(start);
  if (way.cycle < 0) return 0;
  ThreadSet cycle = 0;
  Add("Cycle: ");
  for (int i = way.cycle; i < way.length; ++i) {
    cycle |= Only(way.threads[i]);
    AddThread(way.threads[i]);
    Add(" -> ");
  }
  AddThread(way.threads[way.cycle]);
  Add(".");
  return cycle;
}

// Those that wait for what no waiting thread holds: all others wait for one of these, in the end.
ThreadSet WithoutOwner() {
  ThreadSet found = 0;
  for (int i = 0; i < state.count; ++i) {
    const int owner = Waits(i) ? OwnerOf(state.threads[i]) : i;
    if (owner < 0 || !Waits(owner)) found |= Only(i);
  }
  return found;
}

// `current` and each thread that is parked say where they stand, each on its own stack, and hand the baton back.
void AskAll(int current, StackOf of, ThreadSet decisive) {
  Record& record = state.record;
  for (int i = 0; i < state.count; ++i) {
    const std::size_t before = record.stack_count;
    if (i == current && state.threads[i].state != ThreadState::kDone) {
      NoteStack(of, i);
    } else if (i != current && state.threads[i].parked) {
      state.asker = current;
      HandOver(current, i);
    }
    const int owner = Waits(i) ? OwnerOf(state.threads[i]) : -1;
    if (owner >= 0) NoteTaken(owner, state.threads[i].object);
    for (std::size_t k = before; k < record.stack_count; ++k) record.stacks[k].decisive = Has(decisive, i);
  }
}
}  // namespace

bool HasCycle() {
  for (int i = 0; i < state.count; ++i) {
    if (FollowOwners(i).cycle >= 0) return true;
  }
  return false;
}

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
    case WaitOn::kSignal:
      return "signal";
    case WaitOn::kForever:
      return "ever";
  }
  return "nothing";
}

void FailDeadlock(int current) {
  length = 0;
  Add("All threads that have not ended wait. ");
  for (int i = 0; i < state.count; ++i) {
    if (Waits(i)) AddWaiter(i);
  }
  ThreadSet cycle = 0;
  for (int i = 0; i < state.count && cycle == 0; ++i) {
    if (Waits(i)) cycle = AddCycle(i);
  }
  if (state.has_foreign) {
    Add("Begin has started threads of its own: nobody schedules those, and what they would end is not seen. Start them in an ");
    Add("operation.");
  }
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
  AskAll(current, StackOf::kWaits, cycle != 0 ? cycle : WithoutOwner());
  Fail(FailureKind::kDeadlock, text);
}

void FailLivelock(int current) {
  length = 0;
  Add("expected every operation to end: one made more than 20,000 points (waits, yields, forced pre-emptions). ");
  Add("Look at what it waits for in a loop. ");
  for (int i = 0; i < state.count; ++i) {
    if (Waits(i)) AddWaiter(i);
  }
  while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
  AskAll(current, StackOf::kStands, Only(current));
  Fail(FailureKind::kLivelock, text);
}

}  // namespace handoff::schedule
