// The interpreter's locks as C++ scopes, and one of C++ taken the way an interpreter needs it.
//
// Those of tables tell the oracle for progress (progress.h) who holds them. It judges callbacks and second locks, and not that a
// thread attaches with the lock in the hand: a PyMutex that was waited for is had before its thread is attached again, and so is
// a lock of C++ that was waited for detached.
#pragma once

#include <mutex>
#include <optional>

#include "harness/python/embed.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/progress.h"

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

// A table's PyMutex in the hand of a thread.
class HoldingMutex {
 public:
  HoldingMutex(int thread, PyMutex& mutex) : thread_(thread) {
    progress::Wants(thread_);
    lock_.emplace(mutex);
    progress::Got(thread_);
  }
  ~HoldingMutex() { progress::Gives(thread_); }
  HoldingMutex(const HoldingMutex&) = delete;
  HoldingMutex& operator=(const HoldingMutex&) = delete;

 private:
  const int thread_;
  std::optional<MutexLock> lock_;
};

// A table's native lock (`Lock` is std::unique_lock, std::shared_lock) in the hand of a thread, and taken detached: a waiter that
// is attached keeps the world from stopping, and whoever holds the lock may be waiting for just that (numpy/numpy#28577). The
// holder may wait to attach again, as here; that ends, since nothing that runs while the world is stopped takes the lock.
template <typename Lock>
class HoldingNative {
 public:
  HoldingNative(int thread, Lock::mutex_type& mutex, bool attached = false) : thread_(thread), lock_(mutex, std::defer_lock) {
    progress::Wants(thread_);
    PyThreadState* state = attached ? nullptr : PyEval_SaveThread();
    lock_.lock();
    if (state != nullptr) PyEval_RestoreThread(state);
    progress::Got(thread_);
  }
  ~HoldingNative() { progress::Gives(thread_); }
  HoldingNative(const HoldingNative&) = delete;
  HoldingNative& operator=(const HoldingNative&) = delete;

 private:
  const int thread_;
  Lock lock_;
};

}  // namespace handoff::cache::cpython
