// Mutexes and spin locks. Who owns one is modelled first; the real call is made when it cannot block.
#include <pthread.h>
#include <cerrno>
#include <ctime>

#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(pthread_mutex_lock)
HANDOFF_REAL(pthread_mutex_trylock)
HANDOFF_REAL(pthread_mutex_timedlock)
HANDOFF_REAL(pthread_mutex_unlock)
HANDOFF_REAL(pthread_spin_lock)
HANDOFF_REAL(pthread_spin_trylock)
HANDOFF_REAL(pthread_spin_unlock)
extern "C" __attribute__((weak)) int __interceptor_pthread_mutex_clocklock(pthread_mutex_t*, clockid_t, const timespec*) noexcept;

namespace handoff::schedule {
namespace {

bool MayRelock(const pthread_mutex_t* mutex) {
#if defined(__GLIBC__)
  const int kind = mutex->__data.__kind & 3;  // PTHREAD_MUTEX_*_NP without the robust, shared and protocol bits
  return kind == PTHREAD_MUTEX_RECURSIVE_NP || kind == PTHREAD_MUTEX_ERRORCHECK_NP;
#else
  return false;
#endif
}

bool IsRobust(const pthread_mutex_t* mutex) {
#if defined(__GLIBC__)
  constexpr int kRobust = 16;  // PTHREAD_MUTEX_ROBUST_NORMAL_NP
  return (mutex->__data.__kind & kRobust) != 0;
#else
  return false;
#endif
}

// Somebody outside the schedule holds it: a real lock call would block this OS thread.
bool HeldOutside(const pthread_mutex_t* mutex) {
#if defined(__GLIBC__)
  return mutex->__data.__lock != 0;
#else
  return false;
#endif
}

// Whether a real lock call comes back soon: also where the owner of a robust mutex has ended, or runs its last instructions
// before the kernel frees what it held.
bool OwnerHasEnded(const pthread_mutex_t* mutex) {
#if defined(__GLIBC__)
  constexpr int kOwnerDied = 0x40000000;  // FUTEX_OWNER_DIED
  return IsRobust(mutex) && ((mutex->__data.__lock & kOwnerDied) != 0 || IsAbandoned(mutex));
#else
  return false;
#endif
}
bool IsFree(const pthread_mutex_t* mutex) { return !HeldOutside(mutex) || OwnerHasEnded(mutex); }

int LockReal(pthread_mutex_t* mutex) {
  const int result = Real_pthread_mutex_lock()(mutex);
  if (result == 0 || result == EOWNERDEAD) TakeOwner(mutex, Self(), WaitOn::kMutex, IsRobust(mutex));
  return result;
}

bool OwnedByOther(const void* lock) {
  const Owner* owner = FindOwner(lock);
  return owner != nullptr && owner->thread != Self();
}

}  // namespace

int LockMutex(pthread_mutex_t* mutex, Nanoseconds limit) {
  for (;;) {
    const Owner* owner = FindOwner(mutex);
    const bool mine = owner != nullptr && owner->thread == Self();
    if (mine ? MayRelock(mutex) : owner == nullptr && IsFree(mutex)) return LockReal(mutex);
    if (limit == kBadLimit) return EINVAL;
    if (!Block(mutex, WaitOn::kMutex, limit) && limit != kNoLimit) return ETIMEDOUT;
  }
}

int UnlockMutex(pthread_mutex_t* mutex) {
  // To the real call all fibers are one owner.
  if (state.threads[Self()].fiber != nullptr && MayRelock(mutex) && OwnedByOther(mutex)) return EPERM;
  const int result = Real_pthread_mutex_unlock()(mutex);
  if (result == 0 && DropOwner(mutex)) Wake(mutex, kMaxControlled);
  return result;
}

}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (Controlled() < 0) return Real_pthread_mutex_lock()(mutex);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, mutex, "pthread_mutex_lock");
  return LockMutex(mutex, kNoLimit);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (Controlled() < 0) return Real_pthread_mutex_trylock()(mutex);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, mutex, "pthread_mutex_trylock");
  // On fibers the real call cannot tell their owners apart: they share one OS thread.
  if (OwnedByOther(mutex)) return EBUSY;
  if (OwnerHasEnded(mutex)) return LockReal(mutex);
  const int result = Real_pthread_mutex_trylock()(mutex);
  if (result == 0 || result == EOWNERDEAD) TakeOwner(mutex, Self(), WaitOn::kMutex, IsRobust(mutex));
  return result;
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* limit) noexcept {
  if (Controlled() < 0) return Real_pthread_mutex_timedlock()(mutex, limit);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, mutex, "pthread_mutex_timedlock");
  return LockMutex(mutex, LimitAt(CLOCK_REALTIME, *limit));
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) noexcept {
  if (Controlled() < 0) {
    static decltype(&pthread_mutex_clocklock) cache = nullptr;
    return Real(__interceptor_pthread_mutex_clocklock, &cache, "pthread_mutex_clocklock")(mutex, clock, limit);
  }
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, mutex, "pthread_mutex_clocklock");
  return LockMutex(mutex, LimitAt(clock, *limit));
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (Controlled() < 0) return Real_pthread_mutex_unlock()(mutex);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, mutex, "pthread_mutex_unlock");
  return UnlockMutex(mutex);
}

int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_spin_lock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  const void* object = const_cast<const int*>(lock);
  Point(PointKind::kSync, object, "pthread_spin_lock");
  while (FindOwner(object) != nullptr) Block(object, WaitOn::kMutex, kNoLimit);
  const int result = Real_pthread_spin_lock()(lock);
  if (result == 0) TakeOwner(object, Self(), WaitOn::kMutex);
  return result;
}

int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_spin_trylock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  const void* object = const_cast<const int*>(lock);
  Point(PointKind::kSync, object, "pthread_spin_trylock");
  const int result = Real_pthread_spin_trylock()(lock);
  if (result == 0) TakeOwner(object, Self(), WaitOn::kMutex);
  return result;
}

int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  if (Controlled() < 0) return Real_pthread_spin_unlock()(lock);
  const CallerFrame frame(__builtin_return_address(0));
  const void* object = const_cast<const int*>(lock);
  Point(PointKind::kSync, object, "pthread_spin_unlock");
  const int result = Real_pthread_spin_unlock()(lock);
  if (result == 0 && DropOwner(object)) Wake(object, kMaxControlled);
  return result;
}

}  // extern "C"
