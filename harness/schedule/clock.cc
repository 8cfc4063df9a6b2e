// The clock of an execution. It stands still but for a microsecond a look (more behind a thousand of them), and jumps to the
// limit of a timed wait that times out: so what a subject sees of time is a function of the schedule, and code that asks the
// clock whether it has waited long enough is told yes.
#include <sys/time.h>
#include <ctime>

#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(clock_gettime)
HANDOFF_REAL(gettimeofday)
HANDOFF_REAL(time)
HANDOFF_REAL(timespec_get)

namespace handoff::schedule {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kLook = 1'000;
// Where the two clocks stand at the start of an execution: any day will do, if it is always the same and the two are far apart.
constexpr time_t kRealtimeStart = 1'700'000'000;
constexpr time_t kMonotonicStart = 1'000'000;
constexpr time_t kBetween = 500'000'000;

bool IsRealtime(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }
bool IsModelled(clockid_t clock) {
  return IsRealtime(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_BOOTTIME;
}
time_t StartOf(clockid_t clock) { return IsRealtime(clock) ? kRealtimeStart : kMonotonicStart; }

// Whoever waits for a time by looking at the clock looks often: time goes faster then, or the looks would be a livelock first.
Nanoseconds Look() {
  constexpr std::uint32_t kDoubleEvery = 1024;
  constexpr std::uint32_t kMostDoublings = 20;
  const std::uint32_t doublings = state.looks++ / kDoubleEvery;
  return state.now += kLook << (doublings < kMostDoublings ? doublings : kMostDoublings);
}

bool IsValid(const timespec& time) { return time.tv_nsec >= 0 && time.tv_nsec < kSecond; }

// Limits far in the future are cut, so that sums cannot overflow.
Nanoseconds Span(time_t seconds, long nanoseconds) {
  constexpr time_t kLongest = 1'000'000'000;
  if (seconds < 0) return 0;
  return (seconds > kLongest ? kLongest : seconds) * kSecond + nanoseconds;
}

}  // namespace

Nanoseconds LimitAt(clockid_t clock, const timespec& time) {
  return IsValid(time) && IsModelled(clock) ? Span(time.tv_sec - StartOf(clock), time.tv_nsec) : kBadLimit;
}
Nanoseconds LimitIn(const timespec& time) {
  return IsValid(time) && time.tv_sec >= 0 ? state.now + Span(time.tv_sec, time.tv_nsec) : kBadLimit;
}
clockid_t GuessClock(const timespec& time) { return time.tv_sec > kBetween ? CLOCK_REALTIME : CLOCK_MONOTONIC; }

}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (Controlled() < 0 || !IsModelled(clock)) return Real_clock_gettime()(clock, time);
  const Nanoseconds now = Look();
  *time = {StartOf(clock) + now / kSecond, static_cast<long>(now % kSecond)};
  return 0;
}

int gettimeofday(timeval* __restrict time, void* __restrict zone) noexcept {
  if (Controlled() < 0) return Real_gettimeofday()(time, zone);
  const Nanoseconds now = Look();
  *time = {kRealtimeStart + now / kSecond, static_cast<suseconds_t>(now % kSecond / 1000)};
  return 0;
}

int timespec_get(timespec* time, int base) noexcept {
  if (Controlled() < 0 || base != TIME_UTC) return Real_timespec_get()(time, base);
  clock_gettime(CLOCK_REALTIME, time);
  return base;
}

time_t time(time_t* result) noexcept {
  if (Controlled() < 0) return Real_time()(result);
  const time_t now = kRealtimeStart + Look() / kSecond;
  if (result != nullptr) *result = now;
  return now;
}

}  // extern "C"
