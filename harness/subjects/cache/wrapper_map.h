// The map from native objects to their wrappers, which must not give away a wrapper whose last reference is gone.
//
// A wrapper's count can reach zero while the map still leads to it. A lookup may therefore only take a reference when the count
// is not zero yet, and otherwise makes a new wrapper, which replaces the dying one in the map.
#pragma once

#include <atomic>
#include <mutex>

namespace handoff::cache {

struct Wrapper {
  int native = 0;
  std::atomic<int> references = 1;
};

class WrapperMap {
 public:
  static constexpr int kNatives = 2;

  // The native object's wrapper; the caller owns a reference. Any thread.
  Wrapper* Fetch(int native);
  // Drops a reference. The last one takes the wrapper out of the map, unless a newer one has its place, and frees it. Any thread.
  void Drop(Wrapper* wrapper);
  // On the driver: fails unless this wrapper, to which there is a reference, is the one in the map.
  void CheckIdentity(const Wrapper* wrapper) const;

 private:
  std::mutex mutex_;                  // of this shard
  Wrapper* wrappers_[kNatives] = {};  // guarded by mutex_; not owned: references own wrappers
};

}  // namespace handoff::cache
