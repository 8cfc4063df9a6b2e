#include "harness/schedule/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <cerrno>

#include "harness/schedule/raw_syscall.h"

extern "C" {
// TSan's fibers (D54889) and ASan's; weak, so that one object file serves every build.
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old, std::size_t* size_old);

// The C++ runtime's per-thread record of exceptions (Itanium C++ ABI 2.2.2): a pointer and a count.
struct HandoffEhGlobals {
  void* caught;
  unsigned int uncaught;
};
__attribute__((weak)) HandoffEhGlobals* __cxa_get_globals();

// libstdc++ hands the callable of std::call_once over in these two. The address of a thread-local says nothing about whether it
// exists, so the function that goes with them is asked. Initial-exec, since the general model is a call that sanitizers
// intercept.
__attribute__((weak)) void __once_proxy();
extern __thread void* _ZSt15__once_callable __attribute__((weak, tls_model("initial-exec")));
extern __thread void (*_ZSt11__once_call)() __attribute__((weak, tls_model("initial-exec")));

// Saves the callee-saved registers and the stack pointer in *save, and goes on with those found at `load`.
void handoff_switch_stack(void** save, void* load);
}

#if defined(__x86_64__)
asm(R"(
  .text
  .globl handoff_switch_stack
  .hidden handoff_switch_stack
  .type handoff_switch_stack,@function
handoff_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size handoff_switch_stack, .-handoff_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl handoff_switch_stack
  .hidden handoff_switch_stack
  .type handoff_switch_stack,%function
handoff_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size handoff_switch_stack, .-handoff_switch_stack
)");
#endif

namespace handoff::schedule {
namespace {

// "No happens-before edge" in __tsan_switch_to_fiber's flags (__tsan_switch_to_fiber_no_sync).
constexpr unsigned kNoSync = 1;
constexpr std::size_t kPage = 4096;

Fiber driver;
Fiber* current = nullptr;

// A fiber's first frame finds these on its stack, through the switch's `ret`.
struct Start {
  void (*entry)(void*);
  void* argument;
  Fiber* from;
};
Start starting;  // handed to the fiber that is started for the first time

void FinishSwitch(Fiber* self, Fiber* from) {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(self->asan_fake_stack, &bottom, &size);
  if (from == &driver) {  // only ASan knows the bounds that it uses for the driver's stack
    driver.stack = static_cast<char*>(const_cast<void*>(bottom));
    driver.stack_size = size;
  }
}

Fiber* leaving = nullptr;  // who switched away last

[[noreturn]] void FirstFrame() {
  const Start start = starting;
  FinishSwitch(current, leaving);
  start.entry(start.argument);
  __builtin_trap();  // entries do not return
}

// The OS thread's own, asked for once: the call goes through the thread-local storage of a shared library, which the sanitizers
// intercept.
__thread HandoffEhGlobals* exception_globals = nullptr;
HandoffEhGlobals* ExceptionGlobals() {
  if (exception_globals == nullptr && __cxa_get_globals != nullptr) exception_globals = __cxa_get_globals();
  return exception_globals;
}

void SaveThreadState(Fiber* fiber) {
  fiber->error_number = errno;
  if (const HandoffEhGlobals* globals = ExceptionGlobals(); globals != nullptr) {
    fiber->caught_exceptions = globals->caught;
    fiber->uncaught_exceptions = globals->uncaught;
  }
  if (__once_proxy != nullptr) {
    fiber->once_callable = _ZSt15__once_callable;
    fiber->once_call = reinterpret_cast<void*>(_ZSt11__once_call);
  }
}
void RestoreThreadState(const Fiber* fiber) {
  errno = fiber->error_number;
  if (HandoffEhGlobals* globals = ExceptionGlobals(); globals != nullptr) {
    globals->caught = fiber->caught_exceptions;
    globals->uncaught = fiber->uncaught_exceptions;
  }
  if (__once_proxy != nullptr) {
    _ZSt15__once_callable = fiber->once_callable;
    _ZSt11__once_call = reinterpret_cast<void (*)()>(fiber->once_call);
  }
}

constexpr int kMaxFibers = 64;
Fiber fibers[kMaxFibers];
Start starts[kMaxFibers];
int fiber_count = 0;

}  // namespace

Fiber* DriverFiber() {
  if (current == nullptr) {
    current = &driver;
    if (__tsan_get_current_fiber != nullptr) driver.tsan = __tsan_get_current_fiber();
  }
  return &driver;
}
Fiber* CurrentFiber() { return current; }

Fiber* NewFiber(void (*entry)(void*), void* argument) {
  DriverFiber();
  if (fiber_count == kMaxFibers) __builtin_trap();  // the scheduler makes kMaxThreads and keeps them
  Fiber* fiber = &fibers[fiber_count];
  starts[fiber_count] = Start{entry, argument, nullptr};
  ++fiber_count;
  const long memory = RawSyscall(SYS_mmap, 0, kFiberStack + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) __builtin_trap();
  RawSyscall(SYS_mprotect, memory, kPage, PROT_NONE);
  fiber->stack = reinterpret_cast<char*>(memory) + kPage;
  fiber->stack_size = kFiberStack;
  if (__tsan_create_fiber != nullptr) fiber->tsan = __tsan_create_fiber(0);
  void** top = reinterpret_cast<void**>(fiber->stack + kFiberStack - 64);
#if defined(__x86_64__)
  *--top = nullptr;  // where a return address would be: FirstFrame is entered as if called
  *--top = reinterpret_cast<void*>(&FirstFrame);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
#elif defined(__aarch64__)
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[11] = reinterpret_cast<void*>(&FirstFrame);  // x30
#endif
  fiber->stack_pointer = top;
  return fiber;
}

void SwitchFiber(Fiber* to) {
  Fiber* from = current;
  if (to == from) return;
  SaveThreadState(from);
  current = to;
  leaving = from;
  if (to != &driver) starting = starts[to - fibers];
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(&from->asan_fake_stack, to->stack, to->stack_size);
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(to->tsan, kNoSync);
  handoff_switch_stack(&from->stack_pointer, to->stack_pointer);
  FinishSwitch(from, leaving);  // NOLINT(readability-suspicious-call-argument): who left last, for the one that we are again
  RestoreThreadState(from);
}

}  // namespace handoff::schedule
