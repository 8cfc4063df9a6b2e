// A stack to run on, known to the sanitizer that watches. Several share one OS thread, the host.
#pragma once

#include <cstddef>

namespace handoff::schedule {

// Stack of a fiber: enough for a subject in C++ with a sanitizer's frames; a guard page lies below it.
inline constexpr std::size_t kFiberStack = std::size_t{512} * 1024;

struct Fiber {
  void* stack_pointer = nullptr;  // valid while the fiber is not running
  char* stack = nullptr;          // lowest usable byte; owned, never freed (law 6). The driver's own for the driver
  std::size_t stack_size = 0;
  void* tsan = nullptr;             // owned by the TSan runtime, never destroyed
  void* asan_fake_stack = nullptr;  // owned by the ASan runtime
  // What the C++ runtime and libc keep per OS thread and a fiber must keep for itself.
  void* caught_exceptions = nullptr;
  unsigned int uncaught_exceptions = 0;
  int error_number = 0;
  void* once_callable = nullptr;  // libstdc++'s std::call_once
  void* once_call = nullptr;
};

// The fiber that the host is on now, driver included. Host only.
Fiber* CurrentFiber();
// The driver as a fiber, made at the first call. Host only.
Fiber* DriverFiber();
// A new fiber that will call `entry(argument)`, which must not return. Host only.
Fiber* NewFiber(void (*entry)(void*), void* argument);
// Goes on at `to`; returns when somebody switches back. Makes no happens-before edge.
void SwitchFiber(Fiber* to);

}  // namespace handoff::schedule
