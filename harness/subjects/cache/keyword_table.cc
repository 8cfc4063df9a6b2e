#include "harness/subjects/cache/keyword_table.h"

#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

// What stands for a keyword's string; 0 is what an entry holds before it is filled.
int Interned(int keyword) { return keyword + 1; }

}  // namespace

void KeywordTable::Fill() {
  const std::lock_guard lock(mutex_);
  // Relaxed: the mutex orders us after whoever filled the table.
  if (filled_.load(std::memory_order_relaxed)) return;
  if (Has(Defect::kFlagBeforeTable)) filled_.store(true, std::memory_order_release);
  for (int i = 0; i < kKeywords; ++i) {
    HANDOFF_SYNC_POINT(this, "intern keyword");
    keywords_[i] = Interned(i);
  }
  HANDOFF_SYNC_POINT(this, "set flag");
  if (Has(Defect::kRelaxedFlag)) {
    filled_.store(true, std::memory_order_relaxed);
  } else {
    // Release: who sees the flag without the mutex sees the table.
    filled_.store(true, std::memory_order_release);
  }
}

int KeywordTable::Find(int keyword) {
  HANDOFF_SYNC_POINT(this, "load flag");
  if (!filled_.load(std::memory_order_acquire)) Fill();
  for (int i = 0; i < kKeywords; ++i) {
    if (keywords_[i] == Interned(keyword)) return i;
  }
  return -1;
}

}  // namespace handoff::cache
