// A free list of the data that legacy loops are called with: five entries at most, under a mutex.
//
// An entry is in the list or in exactly one caller's hands. The other correct form is thread_loop_data.h.
#pragma once

#include <mutex>

namespace handoff::cache {

struct LoopData {
  int user_data = 0;  // of the call that has the entry
};

class LoopDataPool {
 public:
  LoopDataPool() = default;
  LoopDataPool(const LoopDataPool&) = delete;
  LoopDataPool& operator=(const LoopDataPool&) = delete;
  ~LoopDataPool();

  // Any thread. The caller owns the entry until it gives it back.
  LoopData* Take(int user_data);
  void Give(LoopData* data);

 private:
  std::unique_lock<std::mutex> Hold();

  static constexpr int kSize = 5;
  std::mutex mutex_;
  LoopData* free_[kSize] = {};  // the first `count_`, guarded by mutex_; owned
  int count_ = 0;               // guarded by mutex_
};

}  // namespace handoff::cache
