// A thread's work, as somebody sees it who joins the thread: a node of the lock order.
#pragma once

#include <condition_variable>
#include <mutex>

#include "harness/oracle/lock_order.h"

namespace handoff::interpreter {

class Work {
 public:
  // Before an execution. `thread` is whose work it is.
  explicit Work(int thread) : thread_(thread), node_(lock_order::NewNode("work of thread", thread)) {}

  // By that thread.
  void Begin() {
    const std::scoped_lock lock(mutex_);
    busy_ = true;
    lock_order::Got(thread_, node_);
  }
  void End() {
    const std::scoped_lock lock(mutex_);
    busy_ = false;
    lock_order::Gave(thread_, node_);
    done_.notify_all();
  }
  // By another one.
  void Join(int thread) {
    lock_order::Waits(thread, node_);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return !busy_; });
  }

 private:
  const int thread_;
  const int node_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool busy_ = false;  // guarded by mutex_
};

}  // namespace handoff::interpreter
