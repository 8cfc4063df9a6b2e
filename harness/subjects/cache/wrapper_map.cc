#include "harness/subjects/cache/wrapper_map.h"

#include <cstddef>
#include <cstdint>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

// Fixed numbers where a library would have addresses: the first and the third object share a shard, and so do the others.
constexpr std::uintptr_t kAddresses[WrapperMap::kNatives] = {0x1010, 0x1020, 0x1030, 0x1040};

std::size_t ShardOf(int native, std::size_t shards) { return kAddresses[native] / 16 % shards; }

// What stands for a wrapper at scheduling points: its address depends on an allocator.
const void* Token(const Wrapper& wrapper) {
  static constexpr char kTokens[WrapperMap::kNatives] = {};
  return &kTokens[wrapper.native];
}

// The link that leads to the native object's wrapper, or the last one, which is null. With the shard's mutex held.
Wrapper** LinkTo(Wrapper** first, int native) {
  Wrapper** link = first;
  while (*link != nullptr && (*link)->native != native) link = &(*link)->next;
  return link;
}

// Takes a reference unless there is none left. With the shard's mutex held, which keeps the wrapper's memory alive.
bool TryRetain(Wrapper& wrapper) {
  HANDOFF_SYNC_POINT(Token(wrapper), "try incref");
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
  Shard& shard = shards_[ShardOf(native, kShards)];
  const std::scoped_lock lock(shard.mutex);
  Wrapper** link = LinkTo(&shard.first, native);
  Wrapper* found = *link;
  if (found != nullptr && TryRetain(*found)) return found;
  // Takes the place of a dying one, which is then no longer found by whoever drops it.
  return *link = new Wrapper{.native = native, .next = found == nullptr ? nullptr : found->next};
}

void WrapperMap::Drop(Wrapper* wrapper) {
  const std::size_t number = ShardOf(wrapper->native, kShards);
  HANDOFF_SYNC_POINT(Token(*wrapper), "drop wrapper");
  // Release: our uses come before the free. Acquire: so do those of all who dropped theirs before us.
  if (wrapper->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  {
    const std::scoped_lock lock(shards_[Has(Defect::kOtherShardLocked) ? 1 - number : number].mutex);
    Wrapper** link = LinkTo(&shards_[number].first, wrapper->native);
    if (*link == wrapper || (*link != nullptr && Has(Defect::kNewerEntryRemoved))) *link = (*link)->next;
  }
  delete wrapper;
}

void WrapperMap::CheckIdentity(const Wrapper* wrapper) const {
  const Wrapper* found = shards_[ShardOf(wrapper->native, kShards)].first;
  while (found != nullptr && found->native != wrapper->native) found = found->next;
  if (found == wrapper) return;
  oracle::Fail(
      "wrong-value", "wrapper map",
      "A wrapper of native object %d is in use and the map does not lead to it. Expected one wrapper at a time: a wrapper "
      "may remove its own entry only.",
      wrapper->native);
}

}  // namespace handoff::cache
