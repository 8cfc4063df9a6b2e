// C11's threads and locks (threads.h). In glibc they are the pthread ones under other names, in the same memory, but it calls
// those past everybody who stands in for them: neither a sanitizer nor the scheduler would see them. So they are sent through the
// front door, from uncontrolled threads too.
#include <pthread.h>
#include <threads.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "harness/schedule/real.h"

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(once_flag) == sizeof(pthread_once_t));

namespace handoff::schedule {
namespace {

pthread_mutex_t* Mutex(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* Condition(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int Result(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}

// Owned by the creator, and by the thread once it runs.
struct Start {
  thrd_start_t routine;
  void* argument;
};

void* Main(void* argument) {
  auto* start = static_cast<Start*>(argument);
  const Start copy = *start;
  std::free(start);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(copy.routine(copy.argument)));
}

}  // namespace
}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int mtx_lock(mtx_t* mutex) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_mutex_lock(Mutex(mutex)));
}
int mtx_trylock(mtx_t* mutex) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_mutex_trylock(Mutex(mutex)));
}
int mtx_timedlock(mtx_t* mutex, const timespec* limit) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_mutex_timedlock(Mutex(mutex), limit));
}
int mtx_unlock(mtx_t* mutex) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_mutex_unlock(Mutex(mutex)));
}
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(Mutex(mutex)); }

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_cond_wait(Condition(condition), Mutex(mutex)));
}
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* limit) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_cond_timedwait(Condition(condition), Mutex(mutex), limit));
}
int cnd_signal(cnd_t* condition) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_cond_signal(Condition(condition)));
}
int cnd_broadcast(cnd_t* condition) {
  const CallerFrame frame(__builtin_return_address(0));
  return Result(pthread_cond_broadcast(Condition(condition)));
}

void call_once(once_flag* flag, void (*routine)()) {
  const CallerFrame frame(__builtin_return_address(0));
  pthread_once(reinterpret_cast<pthread_once_t*>(flag), routine);
}

int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  const CallerFrame frame(__builtin_return_address(0));
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return thrd_nomem;
  *start = {.routine = routine, .argument = argument};
  const int error = pthread_create(thread, nullptr, Main, start);
  if (error != 0) std::free(start);
  return error == EAGAIN ? thrd_nomem : Result(error);
}
int thrd_join(thrd_t thread, int* result) {
  const CallerFrame frame(__builtin_return_address(0));
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (error == 0 && result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return Result(error);
}
int thrd_detach(thrd_t thread) { return Result(pthread_detach(thread)); }
void thrd_exit(int result) {
  const CallerFrame frame(__builtin_return_address(0));
  pthread_exit(reinterpret_cast<void*>(static_cast<std::intptr_t>(result)));
}

}  // extern "C"
