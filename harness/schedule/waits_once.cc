// pthread_once and the guards of function-local statics: somebody runs the initialiser, the others wait for it.
//
// The owner of the once-flag is whoever runs its initialiser now, so that the real call is made by one thread at a time and never
// blocks.
#include <pthread.h>

#include "harness/schedule/edges.h"
#include "harness/schedule/real.h"
#include "harness/schedule/state.h"

HANDOFF_REAL(pthread_once)

extern "C" {
// TSan's own, under the names that the private copy of its runtime gives them; other runtimes have none and libstdc++'s are next.
__attribute__((weak)) int __handoff_real___cxa_guard_acquire(std::uint64_t* guard);
__attribute__((weak)) void __handoff_real___cxa_guard_release(std::uint64_t* guard);
__attribute__((weak)) void __handoff_real___cxa_guard_abort(std::uint64_t* guard);
int __cxa_guard_acquire(std::uint64_t* guard);
void __cxa_guard_release(std::uint64_t* guard);
void __cxa_guard_abort(std::uint64_t* guard);
}

namespace handoff::schedule {
namespace {

// Waits until nobody else runs the initialiser. A thread that waits for itself waits for ever, which is a deadlock finding.
void AwaitInitialiser(const void* object, WaitOn on) {
  while (FindOwner(object) != nullptr) Block(object, on, kNoLimit);
}
void EndInitialiser(const void* object) {
  if (DropOwner(object)) Wake(object, kMaxControlled);
}

// Ends the call of an initialiser however it is left. By an exception (std::call_once lets them pass) the flag is as before the
// call: glibc sees to that, TSan's interceptor does not and would make the next call wait for ever. The next call is ordered
// behind the failed one ([thread.once.callonce]).
class OnceCall {
 public:
  explicit OnceCall(pthread_once_t* control) : control_(control) {
    TakeOwner(const_cast<const int*>(control_), Self(), WaitOn::kOnce);
    Acquire(Edge());
  }
  OnceCall(const OnceCall&) = delete;
  OnceCall& operator=(const OnceCall&) = delete;
  ~OnceCall() {
    if (!returned_) {
      Release(Edge());
      __atomic_store_n(control_, PTHREAD_ONCE_INIT, __ATOMIC_RELAXED);  // only the holder of the baton reads it
    }
    EndInitialiser(const_cast<const int*>(control_));
  }
  int Returned(int result) {
    returned_ = true;
    return result;
  }

 private:
  char* Edge() { return reinterpret_cast<char*>(control_); }

  pthread_once_t* control_;  // the caller's
  bool returned_ = false;
};

// Where the C++ runtime is linked statically there is no next definition. Then the guard is ours, by the Itanium C++ ABI: its
// first byte is 1 when the object is ready, its second is 1 while somebody initialises it.
using Byte = unsigned char;
int AcquireByHand(std::uint64_t* guard) {
  Byte* ready = reinterpret_cast<Byte*>(guard);
  Byte* pending = ready + 1;
  for (;;) {
    if (__atomic_load_n(ready, __ATOMIC_ACQUIRE) != 0) {  // acquire: sees the object that the releasing thread made
      Acquire(reinterpret_cast<char*>(guard));
      return 0;
    }
    Byte expected = 0;
    if (__atomic_compare_exchange_n(pending, &expected, Byte{1}, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
    sched_yield();
  }
}
void ReleaseByHand(std::uint64_t* guard, Byte ready) {
  Byte* first = reinterpret_cast<Byte*>(guard);
  if (ready != 0) Release(reinterpret_cast<char*>(guard));
  __atomic_store_n(first, ready, __ATOMIC_RELEASE);  // release: publishes the object
  __atomic_store_n(first + 1, Byte{0}, __ATOMIC_RELEASE);
}

int RealAcquire(std::uint64_t* guard) {
  static decltype(&__cxa_guard_acquire) cache = nullptr;
  auto* real = Real(__handoff_real___cxa_guard_acquire, &cache, "__cxa_guard_acquire");
  return real != nullptr ? real(guard) : AcquireByHand(guard);
}
void RealRelease(std::uint64_t* guard) {
  static decltype(&__cxa_guard_release) cache = nullptr;
  auto* real = Real(__handoff_real___cxa_guard_release, &cache, "__cxa_guard_release");
  real != nullptr ? real(guard) : ReleaseByHand(guard, 1);
}
void RealAbort(std::uint64_t* guard) {
  static decltype(&__cxa_guard_abort) cache = nullptr;
  auto* real = Real(__handoff_real___cxa_guard_abort, &cache, "__cxa_guard_abort");
  real != nullptr ? real(guard) : ReleaseByHand(guard, 0);
}

}  // namespace
}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_once(pthread_once_t* control, void (*routine)()) {
  if (Controlled() < 0) return Real_pthread_once()(control, routine);
  const CallerFrame frame(__builtin_return_address(0));
  const void* object = const_cast<const int*>(control);
  Point(PointKind::kSync, object, "pthread_once");
  AwaitInitialiser(object, WaitOn::kOnce);
  OnceCall call(control);
  return call.Returned(Real_pthread_once()(control, routine));
}

int __cxa_guard_acquire(std::uint64_t* guard) {
  if (Controlled() < 0) return RealAcquire(guard);
  Point(PointKind::kSync, guard, "initialisation of a function-local static");
  AwaitInitialiser(guard, WaitOn::kGuard);
  const int must_initialise = RealAcquire(guard);
  if (must_initialise != 0) TakeOwner(guard, Self(), WaitOn::kGuard);
  return must_initialise;
}
void __cxa_guard_release(std::uint64_t* guard) {
  RealRelease(guard);
  if (Controlled() >= 0) EndInitialiser(guard);
}
void __cxa_guard_abort(std::uint64_t* guard) {
  RealAbort(guard);
  if (Controlled() >= 0) EndInitialiser(guard);
}

}  // extern "C"
