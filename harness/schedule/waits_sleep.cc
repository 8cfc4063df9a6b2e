// Giving the processor up: sched_yield and sleeps. A sleep ends when somebody chooses it, or by a signal of another thread.
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <threads.h>
#include <unistd.h>
#include <cerrno>
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

// 0, EINVAL, or EINTR: a handler ends a sleep, installed with SA_RESTART or not (signal(7)).
int Sleep(Nanoseconds limit, const char* what) {
  if (limit == kBadLimit) return EINVAL;
  const Thread& thread = state.threads[Self()];
  Point(PointKind::kYield, nullptr, what);
  Block(&thread.limit, WaitOn::kSleep, limit);
  return thread.interruption == Interruption::kNone ? 0 : EINTR;
}

// As poll, select and their like give it. With another signal mask, or without a limit, only a signal is waited for.
int SleepIn(const timespec* time, const sigset_t* mask, const char* what) {
  const Nanoseconds limit = time != nullptr ? LimitIn(*time) : kNoLimit;
  const int error = mask == nullptr && time != nullptr ? Sleep(limit, what) : Suspend(mask, limit, what);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// What is left of a sleep until `limit`.
timespec Left(Nanoseconds limit) {
  const Nanoseconds left = limit > state.now ? limit - state.now : 0;
  return {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
}

}  // namespace
}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int sched_yield() noexcept {
  if (Controlled() < 0) return static_cast<int>(RawSyscall(SYS_sched_yield));
  Point(PointKind::kYield, nullptr, "sched_yield");
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (Controlled() < 0) return static_cast<int>(-RawSyscall(SYS_clock_nanosleep, clock, flags, Word(time), Word(left)));
  if (clock == CLOCK_THREAD_CPUTIME_ID) return EINVAL;
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const Nanoseconds limit = absolute ? LimitAt(clock, *time) : LimitIn(*time);
  const int error = Sleep(limit, "clock_nanosleep");
  if (error == EINTR && !absolute && left != nullptr) *left = Left(limit);
  return error;
}
int nanosleep(const timespec* time, timespec* left) {
  const int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
  if (error == 0) return 0;
  errno = error;
  return -1;
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
  if (Controlled() < 0 || count != 0) return Real_poll()(descriptors, count, milliseconds);
  const timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000L};
  return SleepIn(milliseconds < 0 ? nullptr : &time, nullptr, "poll");
}
int ppoll(pollfd* descriptors, nfds_t count, const timespec* time, const sigset_t* mask) {
  if (Controlled() < 0 || count != 0) return Real_ppoll()(descriptors, count, time, mask);
  return SleepIn(time, mask, "ppoll");
}
// Linux takes microseconds that are more than a second.
int select(int count, fd_set* read, fd_set* write, fd_set* except, timeval* time) {
  if (Controlled() < 0 || count != 0) return Real_select()(count, read, write, except, time);
  if (time == nullptr) return SleepIn(nullptr, nullptr, "select");
  const timespec in = {.tv_sec = time->tv_sec + time->tv_usec / 1'000'000, .tv_nsec = time->tv_usec % 1'000'000 * 1000};
  return SleepIn(&in, nullptr, "select");
}
int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* time, const sigset_t* mask) {
  if (Controlled() < 0 || count != 0) return Real_pselect()(count, read, write, except, time, mask);
  return SleepIn(time, mask, "pselect");
}

}  // extern "C"
