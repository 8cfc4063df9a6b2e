// syscall(): futexes, on which std::atomic::wait of libstdc++ and libc++ stands, and by their numbers some other calls that we
// stand in for.
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <ctime>

#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

namespace handoff::schedule {
namespace {

long WithErrno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

long WaitFutex(const std::uint32_t* word, std::uint32_t expected, Nanoseconds limit, std::uint32_t channels) {
  if (channels == 0 || limit == kBadLimit) return -EINVAL;
  Point(PointKind::kSync, word, "futex wait");
  Thread& thread = state.threads[Self()];
  for (;;) {
    // Nobody else runs between this check and the wait: the two are one step, as in the kernel.
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != expected) return -EAGAIN;
    thread.channels = channels;
    const bool woken = Block(word, WaitOn::kFutex, limit);
    thread.channels = kAllChannels;
    if (thread.interruption == Interruption::kNone) return woken || limit == kNoLimit ? 0 : -ETIMEDOUT;
    if (EndsWait(thread.interruption, limit)) return -EINTR;
  }
}

long WakeFutex(const std::uint32_t* word, int count, std::uint32_t channels) {
  if (channels == 0) return -EINVAL;
  Point(PointKind::kSync, word, "futex wake");
  const int woken = Wake(word, count, channels);
  // Waiters outside the schedule are the kernel's to wake.
  return woken > 0 ? woken : RawSyscall(SYS_futex, Word(word), FUTEX_WAKE_BITSET_PRIVATE, count, 0, 0, channels);
}

// Wakes some of the waiters, and lets others wait for another word from now on. `expected`: null for FUTEX_REQUEUE, which does
// not look at the word.
long RequeueFutex(const std::uint32_t* word, int wake, long requeue, const std::uint32_t* other, const std::uint32_t* expected) {
  Point(PointKind::kSync, word, "futex requeue");
  if (expected != nullptr && __atomic_load_n(word, __ATOMIC_RELAXED) != *expected) return -EAGAIN;
  long moved = Wake(word, wake);
  for (Thread* thread = nullptr; other != word && requeue > 0 && (thread = OldestWaiter(word)) != nullptr; --requeue, ++moved) {
    thread->object = other;
  }
  return moved;
}

// FUTEX_WAIT's limit counts from now on, FUTEX_WAIT_BITSET's is absolute (futex(2)).
Nanoseconds FutexLimit(long operation, const timespec* time) {
  if (time == nullptr) return kNoLimit;
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT) return LimitIn(*time);
  return LimitAt((operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time);
}

// The others are rare enough to go to the kernel; the watchdog catches what blocks there.
bool IsModelled(long operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
      return true;
    default:
      return false;
  }
}

// One of those, with the arguments of the system call.
long Futex(const long* a) {
  const auto* word = reinterpret_cast<const std::uint32_t*>(a[0]);
  const long command = a[1] & FUTEX_CMD_MASK;
  const auto value = static_cast<std::uint32_t>(a[2]);
  const auto last = static_cast<std::uint32_t>(a[5]);
  const bool has_channels = command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET;
  const std::uint32_t channels = has_channels ? last : kAllChannels;
  if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
    return WaitFutex(word, value, FutexLimit(a[1], reinterpret_cast<const timespec*>(a[3])), channels);
  }
  if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) return WakeFutex(word, static_cast<int>(value), channels);
  return RequeueFutex(word, static_cast<int>(value), a[3], reinterpret_cast<const std::uint32_t*>(a[4]),
                      command == FUTEX_CMP_REQUEUE ? &last : nullptr);
}

}  // namespace
}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  if (Controlled() >= 0) {
    if (number == SYS_futex && IsModelled(a[1])) return WithErrno(Futex(a));
    if (number == SYS_sched_yield) return sched_yield();
    if (number == SYS_nanosleep) return nanosleep(reinterpret_cast<timespec*>(a[0]), reinterpret_cast<timespec*>(a[1]));
    if (number == SYS_clock_nanosleep) {
      const auto clock = static_cast<clockid_t>(a[0]);
      return WithErrno(
          -clock_nanosleep(clock, static_cast<int>(a[1]), reinterpret_cast<timespec*>(a[2]), reinterpret_cast<timespec*>(a[3])));
    }
    if (number == SYS_tgkill) return tgkill(static_cast<pid_t>(a[0]), static_cast<pid_t>(a[1]), static_cast<int>(a[2]));
  }
  return WithErrno(RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

}  // extern "C"
