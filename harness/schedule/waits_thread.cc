// Threads that a controlled thread creates, joins or ends: they are enrolled, and run when the baton comes to them.
#include <pthread.h>
#include <unistd.h>
#include <cerrno>

#include "harness/schedule/edges.h"
#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/real.h"
#include "harness/schedule/signal_stack.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(pthread_create)
HANDOFF_REAL(pthread_join)
HANDOFF_REAL(pthread_tryjoin_np)
HANDOFF_REAL(pthread_timedjoin_np)
HANDOFF_REAL(pthread_clockjoin_np)
HANDOFF_REAL(pthread_exit)
HANDOFF_REAL(pause)

namespace handoff::schedule {
namespace {

// What the creator gives to the new thread, by slot of its number. Written before the thread exists, read by it: pthread_create
// orders both.
struct Birth {
  void* (*routine)(void*);
  void* argument;
};
Birth births[kMaxControlled];

// The end of a created thread lies behind the destructors of its thread-locals, so that those run under control too.
// Thread-specific data is destroyed last and in rounds; the third of glibc's four leaves the last to the sanitizers, which end
// their own bookkeeping there.
constexpr std::uintptr_t kLeaveInRound = 3;
pthread_key_t leave_key;
pthread_once_t leave_key_once = PTHREAD_ONCE_INIT;
__thread int created_id = -1;

void LeaveAtLast(void* round) {
  const std::uintptr_t next = reinterpret_cast<std::uintptr_t>(round) + 1;
  if (next <= kLeaveInRound) {
    pthread_setspecific(leave_key, reinterpret_cast<void*>(next));
    return;
  }
  Disarm();
  DropRobustOwner(created_id);
  ReleaseEndEdge();
  Leave(created_id);
}
void MakeLeaveKey() { pthread_key_create(&leave_key, LeaveAtLast); }

void* CreatedMain(void* argument) {
  const int id = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  const Birth birth = births[id];
  Park(id);
  created_id = id;
  EnsureSignalStack(id);
  SetSelf(id);
  pthread_setspecific(leave_key, reinterpret_cast<void*>(std::uintptr_t{1}));
  state.threads[id].kernel_id = RawSyscall(SYS_gettid);
  Arm();
  if (state.threads[id].hears) DeliverSignals();
  return birth.routine(birth.argument);
}

// A created thread, which stays the same one when its number has gone to another.
struct Created {
  int id = -1;
  std::uint64_t enrolment = 0;

  bool HasEnded() const {
    const Thread& bearer = state.threads[id];
    return bearer.enrolment != enrolment || bearer.state == ThreadState::kDone;
  }
};

// The created thread with this handle; `id` is -1 if there is none. The last one: libc gives the handle of a joined thread to a
// later one.
Created FindThread(pthread_t handle) {
  Created found;
  for (int i = 0; i < state.count; ++i) {
    const Thread& thread = state.threads[i];
    if (!thread.created || pthread_equal(thread.handle, handle) == 0 || thread.enrolment < found.enrolment) continue;
    found = {.id = i, .enrolment = thread.enrolment};
  }
  return found;
}

// The real join waits only for the last instructions of a thread that has given the baton up.
int Join(const Created& created, pthread_t handle, void** result, Nanoseconds limit, const char* what) {
  const void* object = &state.threads[created.id];
  Point(PointKind::kSync, object, what);
  if (created.id == Self()) return EDEADLK;
  while (!created.HasEnded()) {
    if (limit == kBadLimit) return EINVAL;
    if (!Block(object, WaitOn::kJoin, limit) && limit != kNoLimit) return ETIMEDOUT;
  }
  return Real_pthread_join()(handle, result);
}

// In a process that an operation forks there is nobody else to hand the baton to.
void BeAlone() {
  if (Self() < 0) return;
  Disarm();
  SetSelf(-1);
}
__attribute__((constructor)) void RegisterFork() { pthread_atfork(nullptr, nullptr, BeAlone); }

}  // namespace

void NoteForeignThreads(bool on) { state.notes_foreign = on; }

}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) noexcept {
  if (Controlled() < 0) {
    if (state.notes_foreign) state.has_foreign = true;
    return Real_pthread_create()(handle, attributes, routine, argument);
  }
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, nullptr, "pthread_create");
  Pause();  // the runtime's own work in there is no point
  pthread_once(&leave_key_once, MakeLeaveKey);
  const int id = Enroll();
  births[id] = Birth{routine, argument};
  state.threads[id].blocked_at_birth = OwnBlocked();
  const int result =
      Real_pthread_create()(handle, attributes, CreatedMain, reinterpret_cast<void*>(static_cast<std::intptr_t>(id)));
  if (result == 0) {
    state.threads[id].handle = *handle;
  } else {
    SetDone(id);
    --state.alive;
  }
  Resume();
  return result;
}

int pthread_join(pthread_t handle, void** result) {
  const Created created = Controlled() >= 0 ? FindThread(handle) : Created{};
  if (created.id < 0) return Real_pthread_join()(handle, result);
  const CallerFrame frame(__builtin_return_address(0));
  return Join(created, handle, result, kNoLimit, "pthread_join");
}

int pthread_timedjoin_np(pthread_t handle, void** result, const timespec* limit) {
  const Created created = Controlled() >= 0 ? FindThread(handle) : Created{};
  if (created.id < 0) return Real_pthread_timedjoin_np()(handle, result, limit);
  const CallerFrame frame(__builtin_return_address(0));
  const Nanoseconds until = limit != nullptr ? LimitAt(CLOCK_REALTIME, *limit) : kNoLimit;
  return Join(created, handle, result, until, "pthread_timedjoin_np");
}

int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t clock, const timespec* limit) {
  const Created created = Controlled() >= 0 ? FindThread(handle) : Created{};
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  if (created.id < 0) return Real_pthread_clockjoin_np()(handle, result, clock, limit);
  const CallerFrame frame(__builtin_return_address(0));
  const Nanoseconds until = limit != nullptr ? LimitAt(clock, *limit) : kNoLimit;
  return Join(created, handle, result, until, "pthread_clockjoin_np");
}

int pthread_tryjoin_np(pthread_t handle, void** result) noexcept {
  const Created created = Controlled() >= 0 ? FindThread(handle) : Created{};
  if (created.id < 0) return Real_pthread_tryjoin_np()(handle, result);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, &state.threads[created.id], "pthread_tryjoin_np");
  return created.HasEnded() ? Real_pthread_join()(handle, result) : EBUSY;
}

void pthread_exit(void* result) {
  if (Controlled() >= 0 && !state.threads[Self()].created) {
    Fail(FailureKind::kHarness,
         "expected an operation to return: it called pthread_exit on a thread of the program, which serves many executions. Let "
         "the "
         "operation create a thread and end that one");
  }
  Real_pthread_exit()(result);
  __builtin_unreachable();
}

// CPython parks threads like this that come back during finalisation. A created thread counts as ended, though nobody can join
// it, until somebody sends it a signal.
int pause() {
  if (Controlled() < 0) return Real_pause()();
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, nullptr, "pause");
  const Thread& thread = state.threads[Self()];
  if (thread.created) {
    PauseCreated(Self());
  } else {
    Block(&thread.waits_on, WaitOn::kForever, kNoLimit);
  }
  errno = EINTR;
  return -1;
}

}  // extern "C"
