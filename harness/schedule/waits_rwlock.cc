// Read-write locks. One entry of the owner table serves both sides: its kind says which, its depth counts readers.
#include <pthread.h>
#include <cerrno>
#include <ctime>

#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(pthread_rwlock_rdlock)
HANDOFF_REAL(pthread_rwlock_tryrdlock)
HANDOFF_REAL(pthread_rwlock_timedrdlock)
HANDOFF_REAL(pthread_rwlock_wrlock)
HANDOFF_REAL(pthread_rwlock_trywrlock)
HANDOFF_REAL(pthread_rwlock_timedwrlock)
HANDOFF_REAL(pthread_rwlock_clockrdlock)
HANDOFF_REAL(pthread_rwlock_clockwrlock)
HANDOFF_REAL(pthread_rwlock_unlock)

namespace handoff::schedule {
namespace {

// The kind of lock that lets no reader in front of a writer that waits: a thread that reads twice may wait for itself there.
bool PrefersWriters(const pthread_rwlock_t* lock) {
#if defined(__GLIBC__)
  return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
#else
  return false;
#endif
}
bool HasWaitingWriter(const pthread_rwlock_t* lock) {
  for (int i = 0; i < state.count; ++i) {
    const Thread& thread = state.threads[i];
    if (thread.state == ThreadState::kWaiting && thread.waits_on == WaitOn::kWriteLock && thread.object == lock) return true;
  }
  return false;
}

bool CanTake(const pthread_rwlock_t* lock, WaitOn side) {
  const Owner* owner = FindOwner(lock);
  if (owner == nullptr) return true;
  if (side != WaitOn::kReadLock || owner->kind != WaitOn::kReadLock) return false;
  return !PrefersWriters(lock) || !HasWaitingWriter(lock);
}

// Whoever writes must not ask again; glibc tells it so.
bool WritesSelf(const pthread_rwlock_t* lock) {
  const Owner* owner = FindOwner(lock);
  return owner != nullptr && owner->kind == WaitOn::kWriteLock && owner->thread == Self();
}

// The try variants cannot block, and unlike a mutex's they lose nothing: TSan has no lock order for the side that tries, but a
// wait that we model is a deadlock finding of our own.
int TryReal(pthread_rwlock_t* lock, WaitOn side) {
  const int result = side == WaitOn::kReadLock ? Real_pthread_rwlock_tryrdlock()(lock) : Real_pthread_rwlock_trywrlock()(lock);
  if (result == 0) TakeOwner(lock, Self(), side);
  return result;
}

int Take(pthread_rwlock_t* lock, WaitOn side, Nanoseconds limit, const char* what) {
  Point(PointKind::kSync, lock, what);
  if (limit == kBadLimit) return EINVAL;
  for (;;) {
    if (WritesSelf(lock)) return EDEADLK;
    const int result = CanTake(lock, side) ? TryReal(lock, side) : EBUSY;
    if (result != EBUSY) return result;
    if (!Block(lock, side, limit) && limit != kNoLimit) {
      Wake(lock, kMaxControlled);  // readers that have waited because of this writer
      return ETIMEDOUT;
    }
  }
}

int Try(pthread_rwlock_t* lock, WaitOn side, const char* what) {
  Point(PointKind::kSync, lock, what);
  return CanTake(lock, side) ? TryReal(lock, side) : EBUSY;
}

}  // namespace
}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_rdlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kReadLock, kNoLimit, "pthread_rwlock_rdlock");
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_wrlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kWriteLock, kNoLimit, "pthread_rwlock_wrlock");
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_timedrdlock()(lock, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kReadLock, LimitAt(CLOCK_REALTIME, *limit), "pthread_rwlock_timedrdlock");
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_timedwrlock()(lock, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kWriteLock, LimitAt(CLOCK_REALTIME, *limit), "pthread_rwlock_timedwrlock");
}
// What std::shared_timed_mutex calls.
int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_clockrdlock()(lock, clock, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kReadLock, LimitAt(clock, *limit), "pthread_rwlock_clockrdlock");
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_clockwrlock()(lock, clock, limit);
  const CallerFrame frame(__builtin_return_address(0));
  return Take(lock, WaitOn::kWriteLock, LimitAt(clock, *limit), "pthread_rwlock_clockwrlock");
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_tryrdlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  return Try(lock, WaitOn::kReadLock, "pthread_rwlock_tryrdlock");
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_trywrlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  return Try(lock, WaitOn::kWriteLock, "pthread_rwlock_trywrlock");
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_rwlock_unlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, lock, "pthread_rwlock_unlock");
  const int result = Real_pthread_rwlock_unlock()(lock);
  if (result == 0 && DropOwner(lock)) Wake(lock, kMaxControlled);
  return result;
}

}  // extern "C"
