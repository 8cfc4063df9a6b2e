// The scheduler's own state and inner functions, shared by the files of this folder and by nobody else.
//
// Every field is read and written by the holder of the baton only, or by the driver while no execution runs; the baton's release
// and acquire (futex word, or one OS thread with fibers) order those accesses. Hence plain fields.
#pragma once

#include <linux/futex.h>
#include <signal.h>
#include <cstdint>

#include "harness/schedule/fiber.h"
#include "harness/schedule/profiler.h"
#include "harness/schedule/record.h"
#include "harness/schedule/scheduler.h"
#include "harness/schedule/strategy.h"

extern "C" {
// Instrumented accesses until handoff_preempt is called; counted down by accesses_*.S on the thread itself. Zero or less: never
// (it would take 2^63 accesses to come round).
extern __thread std::int64_t handoff_budget;
}

namespace handoff::schedule {

// What a thread waits for; names in kWaitNames.
enum class WaitOn : std::uint8_t {
  kNothing,
  kMutex,
  kReadLock,
  kWriteLock,
  kCondition,
  kSemaphore,
  kOnce,
  kGuard,
  kBarrier,
  kFutex,
  kJoin,
  kSleep,
  kSignal,
  kForever,
};
const char* WaitName(WaitOn on);

// Time of an execution, in nanoseconds since its start. It is the scheduler's own (clock.cc): no verdict depends on real time.
using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kNoLimit = -1;
inline constexpr Nanoseconds kBadLimit = -2;  // of a caller whose nanoseconds are none: EINVAL, where it would wait

// A futex's waiters may say which wakes they hear (FUTEX_WAIT_BITSET); all other waits hear all.
inline constexpr std::uint32_t kAllChannels = FUTEX_BITSET_MATCH_ANY;

// What became of the last wait because of signals that another thread of the run sent: who waits looks again, and may have to end
// with EINTR.
enum class Interruption : std::uint8_t {
  kNone,
  kRestarts,  // a handler has run, installed with SA_RESTART
  kHandled,   // one has, without
};

enum class ThreadState : std::uint8_t { kAbsent, kReady, kWaiting, kDone };

struct Thread {
  ThreadState state = ThreadState::kAbsent;
  bool signalled = false;    // the last wait ended because of a Wake, not of its time limit
  bool created = false;      // by a controlled thread, inside the run
  bool parked = false;       // in the middle of its operations: it can be asked where it stands
  bool asked = false;        // it waits for a signal, nobody of the run can run, and it has been woken to look once more
  bool asks_kernel = false;  // and there is a child process that could send one
  bool hears = false;        // it has been sent a signal
  Interruption interruption = Interruption::kNone;
  WaitOn waits_on = WaitOn::kNothing;
  std::uint16_t paused = 0;               // depth of Pause
  const void* object = nullptr;           // waited for; identity only
  std::uint32_t timeouts = 0;             // waits of the current operation that timed out, since the last one that did not
  WaitOn polls_on = WaitOn::kNothing;     // what the last of them was for
  const void* polled = nullptr;           // the object of that wait; identity only
  std::uint64_t wait_ticket = 0;          // order of waiting: a Wake serves the oldest first
  std::uint32_t channels = kAllChannels;  // of the wait for a futex
  std::int64_t quiet = 0;                 // accesses since the last point of another kind than kAccess, or switch
  std::int64_t limit = kNoLimit;          // of a timed wait
  std::uint32_t points = 0;               // inside the current operation
  std::uint32_t unbroken = 0;             // of those, since the last switch or spin
  std::uint64_t enrolment = 0;            // of a created one: a ticket, by which two bearers of one number are told apart
  Position at;
  Fiber* fiber = nullptr;               // owned by fibers.cc; null if the thread has an OS thread of its own
  unsigned long handle = 0;             // pthread_t; 0 if the thread is a fiber
  long kernel_id = 0;                   // 0 until a created one has run
  std::uint64_t signals = 0;            // sent by the others and not delivered: bit N - 1 for signal N
  std::uint64_t awaited = 0;            // by sigwait and its like, in the same bits
  std::uint64_t blocked_at_birth = 0;   // of a created one, in the same bits
  std::uint32_t* pause_word = nullptr;  // the thread's own: of a created one that pauses; where it parks
};

struct State {
  Thread threads[kMaxControlled];
  std::uint32_t pending[kMaxControlled] = {};  // see Decision::pending
  int count = 0;                               // threads of this execution, created ones included
  int alive = 0;                               // of those, not ended, and not created ones that pause
  int holder = -1;
  int asker = -1;                   // the thread that has found a deadlock or livelock and asks the others where they stand
  ThreadSet ready = 0;              // whose state is kReady
  ThreadSet timed = 0;              // whose state is kWaiting, with a limit
  Strategy* strategy = nullptr;     // static object
  const Plan* plan = nullptr;       // caller's, during a run
  const Body* body = nullptr;       // caller's
  const int* operations = nullptr;  // caller's, `plan.threads` of them
  bool stopped_by_spin = false;     // the running budget ends at kSpinAccesses, not at a point of the strategy
  std::int64_t armed = 0;           // what handoff_budget was set to
  bool armed_alone = false;         // and nobody else could run then, so that no strategy was asked for it
  std::uint64_t tickets = 0;        // handed out: to waits, and to created threads
  long leaving = 0;                 // kernel's id of the created thread that has handed the baton on for good; 0: nobody
  std::uint32_t looks = 0;          // at the clock
  std::uint64_t signals = 0;        // sent to the process, which everybody blocks: bits as in Thread
  Nanoseconds now = 0;
  bool keeps_stacks = false;   // see KeepStacks
  bool notes_foreign = false;  // see NoteForeignThreads
  bool has_foreign = false;    // one has been noted, ever
  Profiler profiler;           // of a pilot run
  Record record;
};
extern State state;

// The number of the calling thread while it is controlled and not paused, else -1.
int Controlled();
// The only writers of Thread::state: they keep `ready` and `timed` in step with it.
void SetReady(int id);
void SetWaiting(int id, Nanoseconds limit);
void SetDone(int id);

// Makes the calling OS thread (or fiber) thread `id`, or nobody (-1).
void SetSelf(int id);

// Stops and starts the countdown of the calling thread's accesses.
void Disarm();
void Arm();

// The whole of a point: count, ask the strategy, move the baton; returns when the calling thread holds it again.
void Point(PointKind kind, const void* object, const char* what);
// Gives the baton up until Wake(object) or, if there is a limit, until a strategy chooses the time-out; true if woken. A finding
// if nobody can run.
bool Block(const void* object, WaitOn on, Nanoseconds limit);
// Makes up to `how_many` of those that wait for `object` ready, oldest first, if they wait on one of these channels; returns how
// many.
int Wake(const void* object, int how_many, std::uint32_t channels = kAllChannels);
// Who waits for `object` longest; null if nobody does.
Thread* OldestWaiter(const void* object, std::uint32_t channels = kAllChannels);
// Ends the wait of `thread`, if it waits, because of a signal: it has to look again, if no wake has come in between.
void Disturb(int thread, Interruption interruption);
// On the thread that they were sent to, with the baton: runs the handlers.
void DeliverSignals();
// As sigsuspend, or until the limit; `mask` may be null: the thread's own. 0, EINTR or EINVAL.
int Suspend(const sigset_t* mask, Nanoseconds limit, const char* what);
// Whether a wait with this limit that a signal has interrupted ends with EINTR. Without a limit SA_RESTART begins it again
// (signal(7)).
bool EndsWait(Interruption interruption, Nanoseconds limit);
// A new thread of this execution, ready to run; its number.
int Enroll();
// The calling thread has ended: passes the baton on. The caller must not touch the state afterwards.
void Leave(int id);
// The calling thread, a created one, pauses: passes the baton on, and does not keep the run from ending. Returns when a signal
// has been sent to it, with the baton; else never, whatever runs later.
void PauseCreated(int id);
// Runs the operations of program thread `id` on the calling carrier, which holds the baton.
void RunOperations(int id);

// Number of an object in order of first appearance, from 1; 0 for null.
std::uint32_t ObjectNumber(const void* object);
void ForgetBarriers();  // waits_condition.cc
void ForgetObjects();   // numbers and owners, at the start of an execution

// Who runs first: the decision at the gate.
int FirstThread();

// Appends a row to the trace.
void AddStep(const Step& step);

// Ends in the failure handler; does not return.
[[noreturn]] void Fail(FailureKind kind, const char* text);
// Explains why nobody can run (deadlock.cc) and fails. `current` is the calling thread, which waits, has ended or pauses.
[[noreturn]] void FailDeadlock(int current);
// Whether some wait for each other, in a cycle of owners: nobody from outside can end that.
bool HasCycle();

// An operation of `current`, the calling thread, does not end.
[[noreturn]] void FailLivelock(int current);

// Gives the baton to `next` and parks `current`, the calling thread; returns when it holds the baton again.
void HandOver(int current, int next);

// Stacks (stacks.cc). The calling thread's, innermost first, not more than `limit`; their number.
int ReadFrames(std::uintptr_t* frames, int limit);
// Appends the calling thread's stack to the record. Of a thread that waits: with what it waits for.
void NoteStack(StackOf of, int thread);
// The place of a step of the calling thread; empty if it is nowhere in an operation.
void NotePlace(const Step& step, CodePlace& place);
// Appends where `thread`, which may have gone on since, took `object`; nothing if that was not kept.
void NoteTaken(int thread, const void* object);

// Handing the baton over (carriers.cc).
void Hand(int next);
void Park(int id);
void ParkAt(std::uint32_t* word);  // until Hand sets it, by way of Thread::pause_word
void WakeDriver();
// Orders what the calling thread did before what the driver does after the execution.
void ReleaseEndEdge();

// Who owns a lock, as far as controlled threads took it (objects.cc). -1: nobody that we know.
struct Owner {
  int thread = -1;
  int depth = 0;  // recursive locks; readers of a read-write lock
  WaitOn kind = WaitOn::kNothing;
  bool robust = false;     // a mutex whose next owner is told when this thread has ended with it
  bool abandoned = false;  // it has ended, and nobody has taken the mutex since
};

// Where a lock was taken, by its last owner: of readers who share it the last to come.
struct TakenAt {
  int thread = -1;
  int count = 0;
  std::uintptr_t frames[16] = {};
};
const TakenAt* FindTaken(const void* object);  // null if unknown

Owner* FindOwner(const void* object);                                                // null if unknown
Owner* TakeOwner(const void* object, int thread, WaitOn kind, bool robust = false);  // sets or deepens; never null
bool DropOwner(const void* object);                                                  // true when nobody owns it any more
// `thread` has ended for good: whoever waits for a robust mutex of its is to look again.
void DropRobustOwner(int thread);
bool IsAbandoned(const void* object);

}  // namespace handoff::schedule
