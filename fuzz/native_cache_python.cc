// Threads race for the native caches of a library inside a free-threaded CPython. Does not cover thread-local caches, nor
// finalisation while a cache is in use.
#include "harness/run/target.h"
#include "harness/subjects/cache/python_cache.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "native_cache_python";
    t.summary =
        "Calls, resolves, inserts, exports, drops and collects function objects with dispatch tables, and fills small caches. "
        "Does not cover thread-local caches, nor finalisation while a cache is in use.";
    t.carrier = schedule::Carrier::kThread;
    t.alphabet = cache::PythonCache::Operations();
    t.twins = cache::PythonCache::Twins();
    t.make = cache::PythonCache::Make;
    t.warm_access_may_differ = true;
    return t;
  }();
  return target;
}

}  // namespace handoff
