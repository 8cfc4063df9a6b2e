// syscall(SYS_futex, ...), on which std::atomic::wait of libstdc++ and libc++ stands, and giving the processor up: sched_yield,
// sleeps.
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <threads.h>
#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <ctime>

#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(poll)
HANDOFF_REAL(ppoll)
HANDOFF_REAL(select)
HANDOFF_REAL(pselect)

namespace handoff::schedule {
namespace {

long WithErrno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

long WaitFutex(const std::uint32_t* word, std::uint32_t expected, Nanoseconds limit, std::uint32_t channels) {
  if (channels == 0) return -EINVAL;
  Point(PointKind::kSync, word, "futex wait");
  // Nobody else runs between this check and the wait: the two are one step, as in the kernel.
  if (__atomic_load_n(word, __ATOMIC_RELAXED) != expected) return -EAGAIN;
  Thread& thread = state.threads[Self()];
  thread.channels = channels;
  const bool woken = Block(word, WaitOn::kFutex, limit);
  thread.channels = kAllChannels;
  return woken || limit == kNoLimit ? 0 : -ETIMEDOUT;
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
  for (Thread* thread = nullptr; requeue > 0 && (thread = OldestWaiter(word)) != nullptr; --requeue, ++moved) {
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

void Sleep(Nanoseconds limit, const char* what) {
  const Thread& thread = state.threads[Self()];
  Point(PointKind::kYield, nullptr, what);
  Block(&thread.limit, WaitOn::kSleep, limit);  // nobody wakes it: it ends when somebody chooses it
}

long RealSleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  return RawSyscall(SYS_clock_nanosleep, clock, flags, Word(time), Word(left));
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
  }
  return WithErrno(RawSyscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

int sched_yield() noexcept {
  if (Controlled() < 0) return static_cast<int>(WithErrno(RawSyscall(SYS_sched_yield)));
  Point(PointKind::kYield, nullptr, "sched_yield");
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (Controlled() < 0) return static_cast<int>(-RealSleep(clock, flags, time, left));
  Sleep((flags & TIMER_ABSTIME) != 0 ? LimitAt(clock, *time) : LimitIn(*time), "clock_nanosleep");
  return 0;
}
int nanosleep(const timespec* time, timespec* left) {
  if (Controlled() < 0) return static_cast<int>(WithErrno(RealSleep(CLOCK_REALTIME, 0, time, left)));
  Sleep(LimitIn(*time), "nanosleep");
  return 0;
}
int usleep(useconds_t microseconds) {
  const timespec time = {static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000) * 1000};
  return nanosleep(&time, nullptr);
}
unsigned sleep(unsigned seconds) {
  timespec time = {static_cast<time_t>(seconds), 0};
  return nanosleep(&time, &time) == 0 ? 0 : static_cast<unsigned>(time.tv_sec);
}
// C11's, which libc does not send through the two above.
int thrd_sleep(const timespec* time, timespec* left) {
  const int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
  if (error == EINTR) return -1;
  return error == 0 ? 0 : -2;
}
void thrd_yield() { sched_yield(); }

// With nothing to look at these are sleeps. A wait for a descriptor is the kernel's.
int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  if (Controlled() < 0 || count != 0 || milliseconds < 0) return Real_poll()(descriptors, count, milliseconds);
  Sleep(LimitIn({.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000L}), "poll");
  return 0;
}
int ppoll(pollfd* descriptors, nfds_t count, const timespec* time, const sigset_t* mask) {
  if (Controlled() < 0 || count != 0 || time == nullptr) return Real_ppoll()(descriptors, count, time, mask);
  Sleep(LimitIn(*time), "ppoll");
  return 0;
}
int select(int count, fd_set* read, fd_set* write, fd_set* except, timeval* time) {
  if (Controlled() < 0 || count != 0 || time == nullptr) return Real_select()(count, read, write, except, time);
  Sleep(LimitIn({.tv_sec = time->tv_sec, .tv_nsec = time->tv_usec * 1000}), "select");
  return 0;
}
int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* time, const sigset_t* mask) {
  if (Controlled() < 0 || count != 0 || time == nullptr) return Real_pselect()(count, read, write, except, time, mask);
  Sleep(LimitIn(*time), "pselect");
  return 0;
}

}  // extern "C"
