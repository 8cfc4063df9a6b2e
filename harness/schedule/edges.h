// The only happens-before edges of ours around operations, for ThreadSanitizer and for the processor: driver to threads at the
// start of an execution, threads to driver at its end; and behind that from each thread that finishes to the next. Two different
// objects: a thread that takes the start edge late must not be ordered behind one that has already ended.
#pragma once

extern "C" {
__attribute__((weak)) void __tsan_acquire(void* object);
__attribute__((weak)) void __tsan_release(void* object);
}

namespace handoff::schedule {

static inline void Release(char* edge) {
  if (__tsan_release != nullptr) __tsan_release(edge);
}
static inline void Acquire(char* edge) {
  if (__tsan_acquire != nullptr) __tsan_acquire(edge);
}

}  // namespace handoff::schedule
