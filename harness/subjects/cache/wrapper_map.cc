#include "harness/subjects/cache/wrapper_map.h"

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

// Takes a reference unless there is none left. With the map's mutex held, which keeps the wrapper's memory alive.
bool TryRetain(Wrapper& wrapper, const void* token) {
  HANDOFF_SYNC_POINT(token, "try incref");
  if (Has(Defect::kRetainForTryRetain)) {
    wrapper.references.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  int references = wrapper.references.load(std::memory_order_relaxed);
  // Relaxed: the mutex orders us after the wrapper was made.
  while (references != 0 && !wrapper.references.compare_exchange_weak(references, references + 1, std::memory_order_relaxed)) {
  }
  return references != 0;
}

}  // namespace

Wrapper* WrapperMap::Fetch(int native) {
  const std::lock_guard lock(mutex_);
  Wrapper*& wrapper = wrappers_[native];
  if (wrapper == nullptr || !TryRetain(*wrapper, &wrapper)) wrapper = new Wrapper{native};
  return wrapper;
}

void WrapperMap::Drop(Wrapper* wrapper) {
  Wrapper*& entry = wrappers_[wrapper->native];
  HANDOFF_SYNC_POINT(&entry, "drop wrapper");
  // Release: our uses come before the free. Acquire: so do those of all who dropped theirs before us.
  if (wrapper->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  {
    const std::lock_guard lock(mutex_);
    if (entry == wrapper || Has(Defect::kNewerEntryRemoved)) entry = nullptr;
  }
  delete wrapper;
}

void WrapperMap::CheckIdentity(const Wrapper* wrapper) const {
  if (wrappers_[wrapper->native] == wrapper) return;
  oracle::Fail(
      "wrong-value", "wrapper map",
      "A wrapper of native object %d is in use and the map does not lead to it. Expected one wrapper at a time: a wrapper "
      "may remove its own entry only.",
      wrapper->native);
}

}  // namespace handoff::cache
