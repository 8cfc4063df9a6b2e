// Condition variables, semaphores and barriers. Nobody owns these: a wait ends when somebody wakes it.
#include <pthread.h>
#include <semaphore.h>
#include <cerrno>
#include <ctime>

#include "harness/schedule/edges.h"
#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(pthread_cond_wait)
HANDOFF_REAL(pthread_cond_timedwait)
HANDOFF_REAL(pthread_cond_signal)
HANDOFF_REAL(pthread_cond_broadcast)
HANDOFF_REAL(sem_wait)
HANDOFF_REAL(sem_trywait)
HANDOFF_REAL(sem_timedwait)
HANDOFF_REAL(sem_post)
HANDOFF_REAL(pthread_barrier_wait)
extern "C" __attribute__((weak)) int __interceptor_pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t,
                                                                          const timespec*);
extern "C" __attribute__((weak)) int __interceptor_sem_clockwait(sem_t*, clockid_t, const timespec*);

namespace handoff::schedule {
namespace {

// There is no point between the unlock and the wait, so both are one step, as the standard wants it.
int WaitCondition(pthread_cond_t* condition, pthread_mutex_t* mutex, Nanoseconds limit) {
  Point(PointKind::kSync, condition, limit != kNoLimit ? "pthread_cond_timedwait" : "pthread_cond_wait");
  if (limit == kBadLimit) return EINVAL;
  const int unlocked = UnlockMutex(mutex);
  if (unlocked != 0) return unlocked;
  // A signal of another thread ends it like a wake, which the standard allows and correct callers expect.
  const bool signalled = Block(condition, WaitOn::kCondition, limit);
  // EOWNERDEAD, say: what the next owner of a robust mutex has to hear.
  if (const int locked = LockMutex(mutex, kNoLimit); locked != 0) return locked;
  return signalled || limit == kNoLimit ? 0 : ETIMEDOUT;
}

int WaitSemaphore(sem_t* semaphore, Nanoseconds limit) {
  Point(PointKind::kSync, semaphore, limit != kNoLimit ? "sem_timedwait" : "sem_wait");
  if (limit == kBadLimit) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    if (Real_sem_trywait()(semaphore) == 0) return 0;
    if (errno != EAGAIN) return -1;
    if (!Block(semaphore, WaitOn::kSemaphore, limit) && limit != kNoLimit) {
      errno = ETIMEDOUT;
    } else if (EndsWait(state.threads[Self()].interruption, limit)) {
      errno = EINTR;
    } else {
      continue;
    }
    return -1;
  }
}

// Threads that stand at a barrier now. Few barriers are in use at once; an entry is free when nobody stands at it.
struct BarrierState {
  const pthread_barrier_t* barrier;
  unsigned waiting;
  unsigned opened;  // how often, whichever barrier it was
};
constexpr int kMaxBarriers = 32;
BarrierState barriers[kMaxBarriers];

BarrierState* FindBarrier(const pthread_barrier_t* barrier) {
  BarrierState* unused = nullptr;
  for (BarrierState& entry : barriers) {
    if (entry.waiting > 0 && entry.barrier == barrier) return &entry;
    if (entry.waiting == 0) unused = &entry;
  }
  if (unused == nullptr) Fail(FailureKind::kHarness, "expected at most 32 barriers with waiting threads at once: use fewer");
  unused->barrier = barrier;
  return unused;
}

// How many threads a barrier waits for: glibc's third word (struct pthread_barrier, since 2.25).
unsigned BarrierCount(const pthread_barrier_t* barrier) { return reinterpret_cast<const unsigned*>(barrier)[2]; }

// The real call blocks all but the last, so it is not made: TSan gets its edges by hand, the same that its interceptor makes.
int WaitBarrier(pthread_barrier_t* barrier) {
  Point(PointKind::kSync, barrier, "pthread_barrier_wait");
  Release(reinterpret_cast<char*>(barrier));
  BarrierState* entry = FindBarrier(barrier);
  const bool last = entry->waiting + 1 == BarrierCount(barrier);
  if (last) {
    entry->waiting = 0;
    ++entry->opened;
    Wake(barrier, kMaxControlled);
  } else {
    ++entry->waiting;
    const unsigned opened = entry->opened;
    while (entry->opened == opened) Block(barrier, WaitOn::kBarrier, kNoLimit);
  }
  Acquire(reinterpret_cast<char*>(barrier));
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

}  // namespace

void ForgetBarriers() {
  for (BarrierState& entry : barriers) entry.waiting = 0;
}

}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (Controlled() < 0) return Real_pthread_cond_wait()(condition, mutex);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitCondition(condition, mutex, kNoLimit);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
  if (Controlled() < 0) return Real_pthread_cond_timedwait()(condition, mutex, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitCondition(condition, mutex, LimitAt(GuessClock(*limit), *limit));
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) {
  if (Controlled() < 0) {
    static decltype(&pthread_cond_clockwait) cache = nullptr;
    return Real(__interceptor_pthread_cond_clockwait, &cache, "pthread_cond_clockwait")(condition, mutex, clock, limit);
  }
  const CallerFrame frame(__builtin_return_address(0));
  return WaitCondition(condition, mutex, LimitAt(clock, *limit));
}
// Which waiter a signal wakes is the implementation's choice; ours is the oldest. The real call serves waiters outside the
// schedule.
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (Controlled() < 0) return Real_pthread_cond_signal()(condition);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, condition, "pthread_cond_signal");
  return Wake(condition, 1) > 0 ? 0 : Real_pthread_cond_signal()(condition);
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (Controlled() < 0) return Real_pthread_cond_broadcast()(condition);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, condition, "pthread_cond_broadcast");
  Wake(condition, kMaxControlled);
  return Real_pthread_cond_broadcast()(condition);
}

int sem_wait(sem_t* semaphore) {
  if (Controlled() < 0) return Real_sem_wait()(semaphore);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSemaphore(semaphore, kNoLimit);
}
int sem_trywait(sem_t* semaphore) noexcept {
  if (Controlled() < 0) return Real_sem_trywait()(semaphore);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, semaphore, "sem_trywait");
  return Real_sem_trywait()(semaphore);
}
int sem_timedwait(sem_t* semaphore, const timespec* limit) {
  if (Controlled() < 0) return Real_sem_timedwait()(semaphore, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSemaphore(semaphore, LimitAt(CLOCK_REALTIME, *limit));
}
int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* limit) {
  if (Controlled() < 0) {
    static decltype(&sem_clockwait) cache = nullptr;
    return Real(__interceptor_sem_clockwait, &cache, "sem_clockwait")(semaphore, clock, limit);
  }
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSemaphore(semaphore, LimitAt(clock, *limit));
}
int sem_post(sem_t* semaphore) noexcept {
  if (Controlled() < 0) return Real_sem_post()(semaphore);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, semaphore, "sem_post");
  const int result = Real_sem_post()(semaphore);
  Wake(semaphore, kMaxControlled);
  return result;
}

int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  if (Controlled() < 0) return Real_pthread_barrier_wait()(barrier);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitBarrier(barrier);
}

}  // extern "C"
