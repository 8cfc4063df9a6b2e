// Between the files that model waiting: what one primitive needs of another.
#pragma once

#include <pthread.h>
#include <ctime>

#include "harness/schedule/state.h"

namespace handoff::schedule {

// On a controlled thread, without a point of their own. Results as of pthread_mutex_lock, pthread_mutex_timedlock (ETIMEDOUT when
// somebody chose the time-out) and pthread_mutex_unlock.
int LockMutex(pthread_mutex_t* mutex, Nanoseconds limit);
int UnlockMutex(pthread_mutex_t* mutex);

// A time limit of the caller's as the scheduler's time: absolute by a clock, or from now on; or kBadLimit, for a
// clock that nobody can wait for as well (clock.cc).
Nanoseconds LimitAt(clockid_t clock, const timespec& time);
Nanoseconds LimitIn(const timespec& time);
// The clock of an absolute limit when only the object knows it: the two clocks of an execution are decades apart.
clockid_t GuessClock(const timespec& time);

// The signals that the calling thread blocks: bit N - 1 for signal N.
std::uint64_t OwnBlocked();

}  // namespace handoff::schedule
