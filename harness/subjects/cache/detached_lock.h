// A table's lock that is taken with the thread state detached.
#pragma once

#include <mutex>
#include <optional>
#include <shared_mutex>

#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/holding.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::cache {

// By an attached thread, which is detached for as long as it holds the lock, and attached again after it gave that back.
template <typename Lock>
class HoldingDetached {
 public:
  HoldingDetached(int thread, std::shared_mutex& mutex) {
    if (!Has(Defect::kTableLockWaitedAttached)) detached_.emplace(thread);
    held_.emplace(thread, mutex);
    if (Has(Defect::kAttachesWithTableLock)) detached_.reset();
  }

 private:
  // In this order: the lock is given back first, then the thread attaches.
  std::optional<interpreter::Detached> detached_;
  std::optional<Holding<Lock>> held_;
};

using ReadDetached = HoldingDetached<std::shared_lock<std::shared_mutex>>;
using WriteDetached = HoldingDetached<std::unique_lock<std::shared_mutex>>;

}  // namespace handoff::cache
