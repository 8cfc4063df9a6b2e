// The functions that ours stand in for: the sanitizer's interceptor where it has one, so that it keeps the real happens-before
// edges and its lock-order graph; else the next definition, which is libc's.
#pragma once

#include <dlfcn.h>

extern "C" {
__attribute__((weak)) void __tsan_func_entry(void* return_address);
__attribute__((weak)) void __tsan_func_exit();
}

namespace handoff::schedule {

// `interceptor` is the address of a weak declaration, null where the runtime has none. `cache` is the caller's static; two
// threads that fill it at once write the same value.
template <typename Function>
static inline Function* Real(Function* interceptor, Function** cache, const char* name) {
  if (interceptor != nullptr) return interceptor;
  Function* found = __atomic_load_n(cache, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    __atomic_store_n(cache, found, __ATOMIC_RELAXED);
  }
  return found;
}

namespace {  // NOLINT(misc-anonymous-namespace-in-header): in a header, so that no copy of it is weak

// Names the caller of a stand-in to TSan, which keeps a stack of its own: the stand-in is not instrumented, so without this the
// function that called it would be missing from reports. Not popped when an exception passes, which no stand-in expects.
class CallerFrame {
 public:
  explicit CallerFrame(void* return_address) {
    if (__tsan_func_entry != nullptr) __tsan_func_entry(return_address);
  }
  CallerFrame(const CallerFrame&) = delete;
  CallerFrame& operator=(const CallerFrame&) = delete;
  ~CallerFrame() {
    if (__tsan_func_exit != nullptr) __tsan_func_exit();
  }
};

}  // namespace

}  // namespace handoff::schedule

// Declares __interceptor_NAME and defines RealNAME(): a macro, because names are pasted.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define HANDOFF_REAL(name)                                                \
  extern "C" __attribute__((weak)) decltype(::name) __interceptor_##name; \
  static decltype(::name)* Real_##name() {                                \
    static decltype(::name)* cache = nullptr;                             \
    return handoff::schedule::Real(&__interceptor_##name, &cache, #name); \
  }
