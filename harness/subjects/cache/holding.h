// A table's lock in the hand of a thread, as the oracle for progress counts it.
#pragma once

#include <mutex>

#include "harness/subjects/cache/progress.h"

namespace handoff::cache {

// `Lock` is std::unique_lock or std::shared_lock of the table's mutex. Given back at the end.
template <typename Lock>
class Holding {
 public:
  using Mutex = Lock::mutex_type;

  Holding(int thread, Mutex& mutex) : Holding(thread, mutex, std::defer_lock) { Take(); }
  // Takes nothing yet, and nothing at all unless Take is called.
  Holding(int thread, Mutex& mutex, std::defer_lock_t defer) : thread_(thread), lock_(mutex, defer) {}
  ~Holding() {
    if (lock_.owns_lock()) progress::Gives(thread_);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  void Take() {
    progress::Wants(thread_);
    lock_.lock();
    progress::Got(thread_);
  }
  bool IsTaken() const { return lock_.owns_lock(); }

 private:
  const int thread_;
  Lock lock_;
};

}  // namespace handoff::cache
