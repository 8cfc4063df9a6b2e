// System calls by instruction, past libc, past the sanitizers' interceptors and past our own stand-in for syscall()
// (waits_futex.cc).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdint>

namespace handoff::schedule {

// Returns what the kernel returns: a value, or -errno. Any thread, signal handlers too; does not touch errno.
static inline long RawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#ifdef __x86_64__
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "Handoff runs on x86-64 and aarch64 Linux: add the system call instruction of this processor"
#endif
}

template <typename T>
static inline long Word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// Sleeps while *word is `value`; may return early. Private to the process.
static inline void FutexWait(const std::uint32_t* word, std::uint32_t value) {
  RawSyscall(SYS_futex, Word(word), FUTEX_WAIT_PRIVATE, static_cast<long>(value));
}
static inline void FutexWake(const std::uint32_t* word, int count) {
  RawSyscall(SYS_futex, Word(word), FUTEX_WAKE_PRIVATE, count);
}

}  // namespace handoff::schedule
