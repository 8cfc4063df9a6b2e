// Threads race to look up, fill, replace, grow and drop the caches of a native library, detached or attached to a modelled
// interpreter whose world may be stopped. Does not cover real objects of an interpreter: see native_cache_python.
#include "harness/run/target.h"
#include "harness/subjects/cache/cache.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "native_cache";
    t.summary =
        "Looks up, fills, replaces, grows and drops native caches from several threads, some of them attached to a modelled "
        "interpreter whose world is stopped, and compares them with a sequential map; exports and releases buffers. Does not "
        "cover real Python objects.";
    t.carrier = schedule::Carrier::kFiber;
    t.alphabet = cache::NativeCache::Operations();
    t.twins = cache::NativeCache::Twins();
    t.make = cache::NativeCache::Make;
    return t;
  }();
  return target;
}

}  // namespace handoff
