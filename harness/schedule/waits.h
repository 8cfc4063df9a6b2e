// Between the files that model waiting: what one primitive needs of another.
#pragma once

#include <pthread.h>

namespace handoff::schedule {

// On a controlled thread, without a point of their own. Results as of pthread_mutex_lock, pthread_mutex_timedlock (ETIMEDOUT when
// somebody chose the time-out) and pthread_mutex_unlock.
int LockMutex(pthread_mutex_t* mutex, bool timed);
int UnlockMutex(pthread_mutex_t* mutex);

}  // namespace handoff::schedule
