// The functions that ours stand in for: the sanitizer's interceptor where it has one, so that it keeps the real happens-before
// edges and its lock-order graph; else the next definition, which is libc's.
#pragma once

#include <dlfcn.h>

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

}  // namespace handoff::schedule

// Declares __interceptor_NAME and defines RealNAME(): a macro, because names are pasted.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define HANDOFF_REAL(name)                                                \
  extern "C" __attribute__((weak)) decltype(::name) __interceptor_##name; \
  static decltype(::name)* Real_##name() {                                \
    static decltype(::name)* cache = nullptr;                             \
    return handoff::schedule::Real(&__interceptor_##name, &cache, #name); \
  }
