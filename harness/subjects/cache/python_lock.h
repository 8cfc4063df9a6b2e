// The interpreter's locks as C++ scopes, and one of C++ taken the way an interpreter needs it.
#pragma once

#include "harness/python/embed.h"
#include "harness/schedule/point.h"

namespace handoff::cache::cpython {

// A PyMutex: whoever waits for one detaches, so it may be waited for attached. It is not recursive: no Python code, and nothing
// that may run some, while it is held.
class MutexLock {
 public:
  explicit MutexLock(PyMutex& mutex) : mutex_(mutex) {
    HANDOFF_SYNC_POINT(&mutex_, "lock mutex");
    PyMutex_Lock(&mutex_);
  }
  ~MutexLock() { PyMutex_Unlock(&mutex_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  PyMutex& mutex_;  // not owned
};

// A critical section on an object. Python code may run in it, but it is let go whenever the thread waits, detaches, or enters the
// same section again; when it is back, others have been in it.
class Section {
 public:
  explicit Section(PyObject* object) { PyCriticalSection_Begin(&section_, object); }
  ~Section() { PyCriticalSection_End(&section_); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  PyCriticalSection section_{};
};

// Takes a native lock (std::unique_lock, std::shared_lock) detached: a waiter that is attached keeps the world from stopping, and
// whoever holds the lock may be waiting for just that (numpy/numpy#28577). The holder may wait to attach again, as here; that
// ends, since nothing that runs while the world is stopped takes the lock.
template <typename Lock>
void LockDetached(Lock& lock) {
  PyThreadState* state = PyEval_SaveThread();
  lock.lock();
  PyEval_RestoreThread(state);
}

}  // namespace handoff::cache::cpython
