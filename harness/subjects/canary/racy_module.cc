// A shared library with a planted race, loaded at run time like an extension module.
//
// The broken increment stands between two atomic operations that order whole calls, as reference counts do in extension modules.
// Neither the locks nor our macro give a point in there: only a switch at an access *of this library* can show the race.
#include "harness/subjects/canary/racy_module.h"

#include <pthread.h>

#include <atomic>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> calls = 0;
int count = 0;  // guarded by mutex, unless broken

}  // namespace

void racy_module_reset() {
  calls = 0;
  count = 0;
}

void racy_module_add(bool locked) {
  if (locked) {
    pthread_mutex_lock(&mutex);
    ++count;
    pthread_mutex_unlock(&mutex);
    return;
  }
  calls.fetch_add(1, std::memory_order_acq_rel);
  ++count;
  calls.fetch_add(1, std::memory_order_acq_rel);
}

int racy_module_count() { return count; }
