#include "harness/subjects/cache/allocators.h"

#include <algorithm>
#include <functional>

#include "harness/subjects/cache/defect.h"

namespace handoff::cache {

int AddStrings(std::span<Allocator* const> allocators) {
  Allocator* sorted[kMaxAllocatorsLocked] = {};
  const auto last = std::copy(allocators.begin(), allocators.end(), sorted);
  // One order for everybody, so that no two threads wait for each other. std::less orders any two pointers.
  if (!Has(Defect::kLocksInArgumentOrder)) std::sort(sorted, last, std::less<>());
  const auto end = Has(Defect::kLockTakenTwice) ? last : std::unique(sorted, last);
  for (auto a = sorted; a != end; ++a) (*a)->mutex.lock();
  for (auto a = sorted; a != end; ++a) ++(*a)->strings;
  for (auto a = sorted; a != end; ++a) (*a)->mutex.unlock();
  return static_cast<int>(end - sorted);
}

}  // namespace handoff::cache
