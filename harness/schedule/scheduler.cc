#include "harness/schedule/scheduler.h"

#include <sys/wait.h>

#include "harness/schedule/point.h"
#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/state.h"

extern "C" {
__thread std::int64_t handoff_budget = 0;
// Called by accesses_*.S when the budget is used up, right before the access.
void handoff_preempt();
}

namespace handoff::schedule {

State state;

namespace {

__thread int self = -1;
FailureHandler failure_handler = nullptr;

// FNV-1a over what identifies a switch.
void HashSwitch(int from, const Position& at, int to) {
  const std::uint64_t parts[] = {static_cast<std::uint64_t>(from + 1), at.operation, at.sync, at.access,
                                 static_cast<std::uint64_t>(to)};
  for (const std::uint64_t part : parts) state.record.hash = (state.record.hash ^ part) * 0x100000001B3ULL;
}

void RecordSwitch(const Decision& d, int next) {
  if (next == DefaultChoice(d)) return;
  Record& record = state.record;
  if (record.switch_count == kMaxSwitches) {
    record.switches_lost = true;
    return;
  }
  Switch& entry = record.switches[record.switch_count++];
  entry.thread = d.current < 0 ? kGate : static_cast<std::uint8_t>(d.current);
  entry.to = static_cast<std::uint8_t>(next);
  entry.at = d.at;
}

void CountStep(int thread, PointKind kind) {
  ++state.record.profile.steps;
  ++state.record.profile.steps_of[thread];
  if (state.plan->pilot) state.profiler.Note(thread, kind, state.pending[thread]);
}

// Whether the plan's granularity has points of this kind. Waits, ends, yields and spins are decisions at every granularity.
bool Decides(PointKind kind) { return kind != PointKind::kSync || state.plan->granularity != Granularity::kOp; }

Decision Describe(PointKind kind, int current) {
  Decision d;
  d.kind = kind;
  d.current = current;
  d.ready = state.ready;
  d.timed = state.timed;
  d.can_continue = current >= 0 && Has(d.ready, current);
  if (current >= 0) d.at = state.threads[current].at;
  d.step = state.record.profile.steps;
  d.pending = state.pending;
  return d;
}

// When nobody can run: a thread that waits for a signal may have got one past us, or get it from a child process (SIGCHLD, say),
// so it is to ask the kernel. Not a decision, since there is no choice. -1 if there is none, or no child, or what no signal can
// end.
int AskKernel() {
  if (HasCycle()) return -1;
  siginfo_t info;
  const bool has_child = RawSyscall(SYS_waitid, P_ALL, 0, Word(&info), WEXITED | WNOHANG | WNOWAIT, 0) == 0;
  for (int id = 0; id < state.count; ++id) {
    Thread& thread = state.threads[id];
    if (thread.state != ThreadState::kWaiting || thread.waits_on != WaitOn::kSignal) continue;
    if (thread.asked && !has_child) continue;
    thread.asked = true;
    thread.asks_kernel = has_child;
    SetReady(id);
    return id;
  }
  return -1;
}

// Asks the strategy who runs next and notes the answer; -1 if nobody can.
int Decide(PointKind kind, int current) {
  const Decision d = Describe(kind, current);
  if ((d.ready | d.timed) == 0) return AskKernel();
  const int next = state.strategy->Choose(d);
  if (next < 0 || !Has(d.ready | d.timed, next)) Fail(FailureKind::kHarness, "a strategy chose a thread that cannot run");
  ++state.record.decisions;
  RecordSwitch(d, next);
  if (next != current) HashSwitch(current, d.at, next);
  if (Has(d.timed, next)) {
    Thread& late = state.threads[next];
    SetReady(next);
    if (state.now < late.limit) state.now = late.limit;  // whoever asks the clock sees that time has passed
    AddStep({.kind = StepKind::kTimeout, .thread = static_cast<std::uint8_t>(next), .at = late.at});
  }
  if (next != current && current >= 0) {
    AddStep({.kind = StepKind::kSwitch,
             .point = kind,
             .thread = static_cast<std::uint8_t>(current),
             .to = static_cast<std::uint8_t>(next),
             .at = d.at});
  }
  return next;
}

// Hands the baton from `current`, which is on this OS thread, to `next`, and returns when `current` holds it again.
void MoveTo(int current, int next) {
  if (next == current) return;
  Thread& thread = state.threads[current];
  thread.quiet = 0;
  thread.unbroken = 0;
  thread.parked = true;
  HandOver(current, next);
  while (state.asker >= 0) {  // it does not go on: it is only asked where it stands
    NoteStack(thread.state == ThreadState::kWaiting ? StackOf::kWaits : StackOf::kStands, current);
    HandOver(current, state.asker);
  }
  thread.parked = false;
  SetSelf(current);
}

// Points that one operation makes without a switch before it counts as spinning (on a try-lock, say) and is to give way: many
// more than an operation makes that gets on, many fewer than those of a livelock.
constexpr std::uint32_t kSpinPoints = kMaxPointsPerOperation / 20;

// Whether the calling thread's point, of that kind, is one of a spin.
bool IsSpin(PointKind kind, Thread& thread) {
  if (kind != PointKind::kSync || ++thread.unbroken < kSpinPoints) return false;
  thread.unbroken = 0;
  return true;
}

// Whether `id` does nothing but wait with a limit, time out and wait again: then it waits as well, in its way.
bool Polls(int id) {
  const Thread& thread = state.threads[id];
  return thread.timeouts > kMaxPointsPerOperation / 100 && thread.timeouts >= thread.points / 4;
}

// Whether nobody can run but `id`, which polls, and others do wait for what does not come.
bool OnlyPolls(int id) {
  if (!Polls(id) || (state.ready & ~Only(id)) != 0) return false;
  bool others = false;
  for (int i = 0; i < state.count; ++i) {
    if (i == id || state.threads[i].state != ThreadState::kWaiting) continue;
    if (Has(state.timed, i) && !Polls(i)) return false;
    others = true;
  }
  return others;
}

void CountPoint(int id) {
  Thread& thread = state.threads[id];
  if (++thread.points > kMaxPointsPerOperation) {
    if (OnlyPolls(id)) {
      thread.waits_on = thread.polls_on;
      thread.object = thread.polled;
      SetWaiting(id, state.now);
      FailDeadlock(id);
    }
    FailLivelock(id);
  }
}

}  // namespace

void SetFailureHandler(FailureHandler handler) { failure_handler = handler; }
void Fail(FailureKind kind, const char* text) {
  handoff_budget = 0;
  KeepOwnStack();
  SetSelf(-1);
  if (failure_handler != nullptr) failure_handler(kind, text);
  __builtin_trap();  // no handler, or it returned
}

void SetReady(int id) {
  state.threads[id].state = ThreadState::kReady;
  state.ready |= Only(id);
  state.timed &= ~Only(id);
}
void SetWaiting(int id, Nanoseconds limit) {
  state.threads[id].state = ThreadState::kWaiting;
  state.threads[id].limit = limit;
  state.ready &= ~Only(id);
  if (limit != kNoLimit) state.timed |= Only(id);
}
void SetDone(int id) {
  state.threads[id].state = ThreadState::kDone;
  state.ready &= ~Only(id);
  state.timed &= ~Only(id);
}

void HandOver(int current, int next) {
  state.holder = next;
  const Thread& from = state.threads[current];
  // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): whoever moves holds the baton, so both are numbers
  const Thread& to = state.threads[next];
  if (from.fiber != nullptr && to.fiber != nullptr) {
    SetSelf(next);
    SwitchFiber(to.fiber);
  } else {
    Hand(next);
    Park(current);
  }
}

int Self() { return self; }
void SetSelf(int id) { self = id; }
// A signal handler can run on a thread that is parked: what it calls is not scheduled, since another thread has the baton, or it
// has just been given to this one, which has not noticed yet.
int Controlled() {
  if (self < 0) return -1;
  const Thread& thread = state.threads[self];
  return thread.paused == 0 && !thread.parked ? self : -1;
}

Position Where(int thread) {
  Position at = state.threads[thread].at;
  if (thread == self && state.armed != 0) at.access += static_cast<std::uint32_t>(state.armed - handoff_budget);
  return at;
}
const Record& CurrentRecord() { return state.record; }

// Step number `back` before the next one; only as far as they are kept.
static Step& Before(std::size_t back) { return state.record.steps[StepSlot(state.record.step_count - back)]; }

// The object may be another one: CPython waits on a new semaphore each time.
static bool SameButForPlace(const Step& a, const Step& b) {
  return a.kind == b.kind && a.thread == b.thread && a.to == b.to && a.what == b.what;
}

// How many steps back the same thread timed out likewise, after the same steps; 0 if it did not. A thread that polls would fill
// the trace with its rounds.
static std::size_t RoundEndedBy(const Step& step) {
  constexpr std::size_t kLongestRound = 8;
  if (step.kind != StepKind::kTimeout) return 0;
  const std::size_t kept = state.record.step_count - state.record.steps_lost;
  for (std::size_t length = 2; length <= kLongestRound && 2 * length <= kept + 1; ++length) {
    const StepKind between = Before(length - 1).kind;
    if (between == StepKind::kBegin || between == StepKind::kEnd) return 0;  // another operation
    if (!SameButForPlace(Before(length), step)) continue;
    std::size_t same = 1;
    while (same < length && SameButForPlace(Before(same), Before(same + length))) ++same;
    return same == length ? length : 0;
  }
  return 0;
}

void AddStep(const Step& step) {
  Record& record = state.record;
  if (const std::size_t length = RoundEndedBy(step); length != 0) {
    record.step_count -= length - 1;
    ++Before(1).times;
    return;
  }
  if (record.step_count - record.steps_lost == kMaxSteps) ++record.steps_lost;
  const std::size_t at = StepSlot(record.step_count++);
  record.steps[at] = step;
  if (state.keeps_stacks) NotePlace(step, record.places[at]);
}

void Disarm() {
  const std::int64_t counted = state.armed - handoff_budget;
  handoff_budget = 0;
  state.armed = 0;
  if (counted == 0) return;
  const auto made = static_cast<std::uint64_t>(counted);
  state.threads[self].quiet += counted;
  state.threads[self].at.access += static_cast<std::uint32_t>(made);
  state.record.accesses += made;
  if (state.plan->granularity == Granularity::kAccess) state.record.profile.steps += made;
}

void Arm() {
  std::int64_t budget = kNever;
  state.armed_alone = (state.ready | state.timed) == Only(self);
  if (state.plan->granularity == Granularity::kAccess && !state.armed_alone) {
    budget = state.strategy->NextAccess(self, state.threads[self].at, state.record.profile.steps);
  }
  // The spin bound counts from the last point or switch, not from an access where the thread was told to go on: a replay by
  // `listed` switches is not asked there. On a tie it is the spin that counts, for the same reason.
  const std::int64_t left = kSpinAccesses - state.threads[self].quiet;
  state.stopped_by_spin = budget >= left;
  if (state.stopped_by_spin) budget = left;
  state.armed = budget;
  handoff_budget = budget;
}

void Point(PointKind kind, const void* object, const char* what) {
  Disarm();
  const int id = self;
  Thread& thread = state.threads[id];
  if (kind == PointKind::kSync || kind == PointKind::kYield) {
    ++thread.at.sync;
    thread.at.access = 0;
    state.pending[id] = ObjectNumber(object);
    AddStep({.kind = StepKind::kPoint,
             .point = kind,
             .thread = static_cast<std::uint8_t>(id),
             .object = state.pending[id],
             .at = thread.at,
             .what = what});
  }
  if (kind != PointKind::kAccess) {
    thread.quiet = 0;
    CountPoint(id);
  }
  if (IsSpin(kind, thread)) {
    MoveTo(id, Decide(PointKind::kSpin, id));
  } else if (Decides(kind)) {
    if (kind == PointKind::kOp || kind == PointKind::kSync) CountStep(id, kind);
    MoveTo(id, Decide(kind, id));
  }
  state.pending[id] = 0;
  Arm();
  if (thread.hears) DeliverSignals();
}

bool Block(const void* object, WaitOn on, Nanoseconds limit) {
  Disarm();
  const int id = self;
  Thread& thread = state.threads[id];
  ++thread.at.sync;
  thread.at.access = 0;
  thread.quiet = 0;
  CountPoint(id);
  thread.waits_on = on;
  thread.object = object;
  thread.signalled = false;
  thread.interruption = Interruption::kNone;
  SetWaiting(id, limit);
  thread.wait_ticket = ++state.tickets;
  AddStep({.kind = StepKind::kWait,
           .thread = static_cast<std::uint8_t>(id),
           .object = ObjectNumber(object),
           .at = thread.at,
           .what = WaitName(on)});
  const int next = Decide(PointKind::kWait, id);
  if (next < 0) FailDeadlock(id);
  MoveTo(id, next);
  const bool woken = thread.signalled || thread.interruption != Interruption::kNone;
  thread.timeouts = woken || on == WaitOn::kSleep ? 0 : thread.timeouts + 1;
  thread.polls_on = on;
  thread.polled = object;
  thread.waits_on = WaitOn::kNothing;
  thread.object = nullptr;
  thread.limit = kNoLimit;
  Arm();
  if (thread.hears) DeliverSignals();
  return woken;
}

Thread* OldestWaiter(const void* object, std::uint32_t channels) {
  Thread* oldest = nullptr;
  for (int i = 0; i < state.count; ++i) {
    Thread& thread = state.threads[i];
    if (thread.state != ThreadState::kWaiting || thread.object != object || (thread.channels & channels) == 0) continue;
    if (oldest == nullptr || thread.wait_ticket < oldest->wait_ticket) oldest = &thread;
  }
  return oldest;
}

// Somebody has become ready: if there was nobody to switch to, there is now, and the next point may be far.
static void ArmAgain() {
  if (state.armed == 0 || !state.armed_alone) return;
  Disarm();
  Arm();
}

int Wake(const void* object, int how_many, std::uint32_t channels) {
  int woken = 0;
  for (; woken < how_many; ++woken) {
    Thread* oldest = OldestWaiter(object, channels);
    if (oldest == nullptr) break;
    SetReady(static_cast<int>(oldest - state.threads));
    oldest->signalled = true;
  }
  if (woken > 0) ArmAgain();
  return woken;
}

void Disturb(int id, Interruption interruption) {
  Thread& thread = state.threads[id];
  if (thread.state != ThreadState::kWaiting) return;
  thread.interruption = interruption;
  if (thread.pause_word != nullptr) ++state.alive;
  SetReady(id);
  ArmAgain();
}

// When all numbers are given out, that of a created thread which has ended is used again; a late join of that one need not wait.
// -1 if there is none.
static int FreeNumber() {
  if (state.count < kMaxControlled) return state.count;
  for (int id = kMaxControlled - 1; id >= 0; --id) {
    if (state.threads[id].created && state.threads[id].state == ThreadState::kDone) return id;
  }
  return -1;
}

int Enroll() {
  const int id = FreeNumber();
  if (id < 0)
    Fail(FailureKind::kHarness, "expected at most 16 threads alive in one execution, created ones included: create fewer");
  const auto last_sync = state.threads[id].at.sync;
  const bool again = id < state.count;
  if (!again) ++state.count;
  state.threads[id] = Thread{};
  // Positions go on where the last bearer of the number stood, since no two decisions of a number may share one.
  if (again) state.threads[id].at.sync = static_cast<std::uint16_t>(last_sync + 1);
  SetReady(id);
  state.threads[id].created = true;
  state.threads[id].enrolment = ++state.tickets;
  state.pending[id] = 0;
  ++state.alive;
  state.strategy->Created(id);
  AddStep({.kind = StepKind::kCreate,
           .thread = static_cast<std::uint8_t>(self),
           .to = static_cast<std::uint8_t>(id),
           .at = state.threads[self].at});
  return id;
}

void Leave(int id) {
  Thread& thread = state.threads[id];
  SetDone(id);
  // A created thread ends inside its only operation: a position of its own, or `listed` could not tell this decision from the
  // last one.
  if (thread.created) ++thread.at.sync;
  thread.at.access = 0;
  --state.alive;
  AddStep({.kind = StepKind::kExit, .thread = static_cast<std::uint8_t>(id), .at = thread.at});
  Wake(&thread, kMaxControlled);  // those that join it
  if (thread.created) state.leaving = RawSyscall(SYS_gettid);
  SetSelf(-1);
  if (state.alive == 0) {
    state.holder = -1;
    if (thread.fiber != nullptr) {
      SwitchFiber(DriverFiber());
    } else {
      WakeDriver();
    }
    return;
  }
  const int next = Decide(PointKind::kEnd, id);
  if (next < 0) FailDeadlock(id);
  state.holder = next;
  if (thread.fiber != nullptr && state.threads[next].fiber != nullptr) {
    SetSelf(next);
    SwitchFiber(state.threads[next].fiber);
  } else if (thread.fiber != nullptr) {
    Hand(next);
    Park(id);  // the host must wait for its next fiber; it wakes up on that fiber's stack, or on this one at the next run
  } else {
    Hand(next);
  }
}

void PauseCreated(int id) {
  Disarm();
  Thread& thread = state.threads[id];
  std::uint32_t word = 0;  // a later run may give the number to another thread, and with it the place to park
  ++thread.at.sync;
  thread.at.access = 0;
  thread.waits_on = WaitOn::kForever;
  thread.interruption = Interruption::kNone;
  SetWaiting(id, kNoLimit);
  --state.alive;
  AddStep(
      {.kind = StepKind::kWait, .thread = static_cast<std::uint8_t>(id), .at = thread.at, .what = WaitName(WaitOn::kForever)});
  ReleaseEndEdge();
  SetSelf(-1);
  const int next = state.alive == 0 ? -1 : Decide(PointKind::kWait, id);
  if (next < 0 && state.alive != 0) FailDeadlock(id);
  thread.pause_word = &word;
  state.holder = next;
  next < 0 ? WakeDriver() : Hand(next);
  ParkAt(&word);
  thread.pause_word = nullptr;
  thread.waits_on = WaitOn::kNothing;
  SetSelf(id);
  Arm();
  DeliverSignals();
}

void RunOperations(int id) {
  Thread& thread = state.threads[id];
  const int count = state.operations[id];
  Arm();
  if (thread.hears) DeliverSignals();
  for (int k = 0; k < count; ++k) {
    AddStep({.kind = StepKind::kBegin, .thread = static_cast<std::uint8_t>(id), .at = thread.at});
    state.body->operation(state.body->context, id, k);
    Disarm();
    AddStep({.kind = StepKind::kEnd, .thread = static_cast<std::uint8_t>(id), .at = thread.at});
    thread.at = Position{.operation = static_cast<std::uint16_t>(k + 1)};
    thread.points = thread.unbroken = 0;
    thread.timeouts = 0;
    if (k + 1 < count) Point(PointKind::kOp, nullptr, nullptr);
  }
}

int FirstThread() { return Decide(PointKind::kGate, -1); }

void Pause() {
  if (self < 0) return;
  Thread& thread = state.threads[self];
  if (thread.paused == 0) Disarm();
  ++thread.paused;
}
void Resume() {
  if (self < 0) return;
  Thread& thread = state.threads[self];
  if (--thread.paused == 0) Arm();
}

Granularity FinestGranularity() {
#if HANDOFF_ACCESS_POINTS
  return Granularity::kAccess;
#else
  return Granularity::kSync;
#endif
}

}  // namespace handoff::schedule

void handoff_preempt() {
  using namespace handoff::schedule;
  if (Controlled() < 0) return;
  Point(state.stopped_by_spin ? PointKind::kSpin : PointKind::kAccess, nullptr, nullptr);
}

void handoff_sync_point(const void* object, const char* what) {
  using namespace handoff::schedule;
  if (Controlled() >= 0) Point(PointKind::kSync, object, what);
}
