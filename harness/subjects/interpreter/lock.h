// A mutex that the lock order knows.
#pragma once

#include <mutex>

#include "harness/oracle/lock_order.h"

namespace handoff::interpreter {

// `name` is a literal. One node per mutex and execution.
class Mutex {
 public:
  Mutex(const char* name, int number) : node_(lock_order::NewNode(name, number)) {}
  void Lock(int thread) {
    lock_order::Waits(thread, node_);
    mutex_.lock();
    lock_order::Got(thread, node_);
  }
  void Unlock(int thread) {
    lock_order::Gave(thread, node_);
    mutex_.unlock();
  }

 private:
  const int node_;
  std::mutex mutex_;
};

class Locked {
 public:
  Locked(int thread, Mutex& mutex) : thread_(thread), mutex_(mutex) { mutex_.Lock(thread_); }
  ~Locked() { mutex_.Unlock(thread_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const int thread_;
  Mutex& mutex_;
};

}  // namespace handoff::interpreter
