// Threads race to look up, fill, replace, grow and drop the caches of a native library. Does not cover Python: waiting for a lock
// with a thread state attached, and objects that an interpreter owns.
#include "harness/run/target.h"
#include "harness/subjects/cache/cache.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "native_cache";
    t.summary =
        "Looks up, fills, replaces, grows and drops native caches from several threads and compares them with a sequential map. "
        "Does not cover Python: locks that are waited for attached.";
    t.carrier = schedule::Carrier::kFiber;
    t.alphabet = cache::NativeCache::Operations();
    t.twins = cache::NativeCache::Twins();
    t.make = cache::NativeCache::Make;
    return t;
  }();
  return target;
}

}  // namespace handoff
