// The map from native objects to their wrappers, which must not give away a wrapper whose last reference is gone.
//
// A wrapper's count can reach zero while the map still leads to it. A lookup may therefore only take a reference when the count
// is not zero yet, and otherwise makes a new wrapper, which replaces the dying one in the map.
//
// The map is in shards, each with a lock of its own, so that threads with different objects seldom wait for each other. An
// object's address says which shard has its entry.
#pragma once

#include <atomic>
#include <mutex>

namespace handoff::cache {

struct Wrapper {
  int native = 0;
  std::atomic<int> references = 1;
  Wrapper* next = nullptr;  // in the shard's list, guarded by its mutex; not owned
};

class WrapperMap {
 public:
  static constexpr int kNatives = 4;

  // The native object's wrapper; the caller owns a reference. Any thread.
  Wrapper* Fetch(int native);
  // Drops a reference. The last one takes the wrapper out of the map, unless a newer one has its place, and frees it. Any thread.
  void Drop(Wrapper* wrapper);
  // On the driver: fails unless this wrapper, to which there is a reference, is the one in the map.
  void CheckIdentity(const Wrapper* wrapper) const;

 private:
  static constexpr int kShards = 2;

  struct Shard {
    std::mutex mutex;
    Wrapper* first = nullptr;  // guarded by mutex; a list of wrappers that references own
  };

  Shard shards_[kShards];
};

}  // namespace handoff::cache
