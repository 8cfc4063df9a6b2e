#include "harness/subjects/cache/loop_data.h"

#include "harness/subjects/cache/defect.h"

namespace handoff::cache {

std::unique_lock<std::mutex> LoopDataPool::Hold() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!Has(Defect::kFreeListWithoutLock)) lock.lock();
  return lock;
}

LoopData* LoopDataPool::Take(int user_data) {
  LoopData* data = nullptr;
  if (const auto lock = Hold(); count_ > 0) data = free_[--count_];
  if (data == nullptr) data = new LoopData;  // the allocator needs no lock of ours
  data->user_data = user_data;
  return data;
}

void LoopDataPool::Give(LoopData* data) {
  {
    const auto lock = Hold();
    if (count_ < kSize) {
      free_[count_++] = data;
      return;
    }
  }
  delete data;
}

LoopDataPool::~LoopDataPool() {
  while (count_ > 0) delete free_[--count_];
}

}  // namespace handoff::cache
