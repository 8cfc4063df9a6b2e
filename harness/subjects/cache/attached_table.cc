#include "harness/subjects/cache/attached_table.h"

#include <optional>

#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/detached_lock.h"

namespace handoff::cache {

// --- detached ---

const Implementation* DetachedTable::Get(int thread, const Key& key) {
  const ReadDetached lock(thread, locks->readers_writers);
  return table_.Get(key);
}

const Implementation* DetachedTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  const WriteDetached lock(thread, locks->readers_writers);
  if (Has(Defect::kReadsUnderWritersLock) && Get(thread, key) != nullptr) return Get(thread, key);
  return table_.SetDefault(key, value);
}

const Implementation* DetachedTable::Replace(int thread, const Key& key, const Implementation* value) {
  const WriteDetached lock(thread, locks->readers_writers);
  return table_.Replace(key, value);
}

void DetachedTable::Grow(int thread) {
  const WriteDetached lock(thread, locks->readers_writers);
  table_.Grow();
}

// --- critical section ---

const Implementation* SectionTable::Get(int thread, const Key& key) {
  std::optional<CriticalSection> section;
  if (!Has(Defect::kReaderOutsideSection)) section.emplace(thread, locks->section);
  return table_.Get(key);
}

const Implementation* SectionTable::SetDefault(int thread, const Key& key, const Implementation* value) {
  const CriticalSection section(thread, locks->section);
  if (Has(Defect::kSectionTrusted)) {
    table_.Replace(key, value);
    return value;
  }
  return table_.SetDefault(key, value);
}

const Implementation* SectionTable::Replace(int thread, const Key& key, const Implementation* value) {
  const CriticalSection section(thread, locks->section);
  return table_.Replace(key, value);
}

void SectionTable::Grow(int thread) {
  const CriticalSection section(thread, locks->section);
  table_.Grow();
}

}  // namespace handoff::cache
