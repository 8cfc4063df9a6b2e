// Signals that the threads of a run send each other. The receiver's handler runs when it has the baton, not beside the thread
// that has it: what the handler does is scheduled like all else, and the run is a function of its case.
//
// To the sanitizer a signal is no synchronisation, as ever (ThreadSanitizer makes no edge in pthread_kill).
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <bit>
#include <cerrno>

#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/real.h"
#include "harness/schedule/state.h"
#include "harness/schedule/waits.h"

HANDOFF_REAL(pthread_kill)
HANDOFF_REAL(kill)
HANDOFF_REAL(sigwait)
HANDOFF_REAL(sigwaitinfo)
HANDOFF_REAL(sigtimedwait)
HANDOFF_REAL(sigsuspend)
HANDOFF_REAL(ppoll)

namespace handoff::schedule {
namespace {

constexpr int kSignals = 64;
bool IsSignal(int signal) { return signal >= 1 && signal <= kSignals; }
std::uint64_t Bit(int signal) { return 1ULL << (signal - 1); }

std::uint64_t Bits(const sigset_t& set) {
  std::uint64_t bits = 0;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (sigismember(&set, signal) == 1) bits |= Bit(signal);
  }
  return bits;
}

bool Blocks(int signal) {
  sigset_t mask;
  return pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && sigismember(&mask, signal) == 1;
}

// What a signal will do to the calling thread's wait.
Interruption EffectOf(int signal) {
  struct sigaction action;
  if (Blocks(signal) || sigaction(signal, nullptr, &action) != 0) return Interruption::kSent;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return Interruption::kSent;
  return (action.sa_flags & SA_RESTART) != 0 ? Interruption::kRestarts : Interruption::kHandled;
}

bool HasEnded(const Thread& thread) { return thread.state == ThreadState::kAbsent || thread.state == ThreadState::kDone; }

// Whether signals to this thread of the run are ours to deliver. Not to the caller, which has the baton, nor to a created one
// that has ended or pauses for ever, outside of the schedule. One of the program's that has ended is: its carrier waits for the
// next run.
bool IsOurs(int id) {
  const Thread& thread = state.threads[id];
  return id != Self() && (!thread.created || (!HasEnded(thread) && thread.waits_on != WaitOn::kForever));
}

// -1: whoever it is, the kernel delivers. Fibers share the handle and the number of one OS thread.
int FindHandle(pthread_t handle) {
  for (int id = 0; id < state.count; ++id) {
    const Thread& thread = state.threads[id];
    if (IsOurs(id) && thread.handle != 0 && pthread_equal(thread.handle, handle) != 0) return id;
  }
  return -1;
}
int FindKernelId(long kernel_id) {
  for (int id = 0; id < state.count; ++id) {
    if (IsOurs(id) && state.threads[id].kernel_id == kernel_id) return id;
  }
  return -1;
}
int FindAwaiting(int signal) {
  for (int id = 0; id < state.count; ++id) {
    if (IsOurs(id) && (state.threads[id].awaited & Bit(signal)) != 0) return id;
  }
  return -1;
}

// A point, then the signal; false if the receiver has ended, then or before.
bool Send(int id, int signal, const char* what) {
  const Thread& thread = state.threads[id];
  const std::uint64_t enrolment = thread.enrolment;
  Point(PointKind::kSync, &thread, what);
  if (HasEnded(thread) || !IsOurs(id) || thread.enrolment != enrolment) return false;
  SendSignal(id, signal);
  return true;
}

int MinusOne(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// As sigtimedwait. What the others send becomes pending when the caller has the baton, since it blocks it: then the kernel has
// it.
int WaitSignal(const sigset_t* set, siginfo_t* info, const timespec* time, const char* what) {
  constexpr timespec kNow = {};
  Thread& thread = state.threads[Self()];
  Point(PointKind::kSync, &thread.signals, what);
  const Nanoseconds limit = time != nullptr ? LimitIn(*time) : kNoLimit;
  if (limit == kBadLimit) {
    errno = EINVAL;
    return -1;
  }
  for (;;) {
    const int signal = Real_sigtimedwait()(set, info, &kNow);
    if (signal >= 0 || errno != EAGAIN) return signal;
    thread.awaited = Bits(*set);
    const bool woken = Block(&thread.signals, WaitOn::kSignal, limit);
    thread.awaited = 0;
    const bool handled = thread.interruption > Interruption::kSent;
    if (handled || (!woken && limit != kNoLimit)) {
      errno = handled ? EINTR : EAGAIN;
      return -1;
    }
    if (thread.asks_kernel) {
      thread.asks_kernel = false;
      return Real_sigtimedwait()(set, info, nullptr);
    }
  }
}

}  // namespace

bool EndsWait(Interruption interruption, Nanoseconds limit) {
  return interruption == Interruption::kHandled || (interruption == Interruption::kRestarts && limit != kNoLimit);
}

// Sent to itself, a signal is handled at once, by ThreadSanitizer too, which puts off those of others.
void DeliverSignals() {
  Thread& thread = state.threads[Self()];
  Interruption effect = thread.interruption;
  while (thread.signals != 0) {
    const int signal = std::countr_zero(thread.signals) + 1;
    thread.signals &= ~Bit(signal);
    const Interruption one = EffectOf(signal);
    if (effect != Interruption::kNone && one > effect) effect = one;
    Real_pthread_kill()(pthread_self(), signal);
  }
  thread.interruption = effect;  // waits of the handlers have left theirs
}

}  // namespace handoff::schedule

using namespace handoff::schedule;

extern "C" {

int pthread_kill(pthread_t handle, int signal) noexcept {
  const int id = Controlled() >= 0 && IsSignal(signal) ? FindHandle(handle) : -1;
  if (id < 0) return Real_pthread_kill()(handle, signal);
  const CallerFrame frame(__builtin_return_address(0));
  Send(id, signal, "pthread_kill");
  return 0;  // to one that has ended as well (glibc since 2.34)
}

int tgkill(pid_t process, pid_t thread, int signal) {
  const int id = Controlled() >= 0 && IsSignal(signal) && process == getpid() ? FindKernelId(thread) : -1;
  if (id < 0) return MinusOne(static_cast<int>(-RawSyscall(SYS_tgkill, process, thread, signal)));
  const CallerFrame frame(__builtin_return_address(0));
  return MinusOne(Send(id, signal, "tgkill") ? 0 : ESRCH);
}

// To the process: any of its threads may get it. The kernel would prefer the main thread, which is not the program's.
int kill(pid_t process, int signal) noexcept {
  if (Controlled() < 0 || !IsSignal(signal) || process != getpid()) return Real_kill()(process, signal);
  const CallerFrame frame(__builtin_return_address(0));
  if (const int id = FindAwaiting(signal); id >= 0) return MinusOne(Send(id, signal, "kill") ? 0 : ESRCH);
  if (EffectOf(signal) == Interruption::kSent) return Real_kill()(process, signal);
  return Real_pthread_kill()(pthread_self(), signal);
}

int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  if (Controlled() < 0) return Real_sigwaitinfo()(set, info);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSignal(set, info, nullptr, "sigwaitinfo");
}
int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  const bool looks = time != nullptr && time->tv_sec == 0 && time->tv_nsec == 0;
  if (Controlled() < 0 || looks) return Real_sigtimedwait()(set, info, time);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSignal(set, info, time, "sigtimedwait");
}
int sigwait(const sigset_t* set, int* signal) {
  if (Controlled() < 0) return Real_sigwait()(set, signal);
  const CallerFrame frame(__builtin_return_address(0));
  int found;
  do {
    found = WaitSignal(set, nullptr, nullptr, "sigwait");
  } while (found < 0 && errno == EINTR);
  if (found < 0) return errno;
  *signal = found;
  return 0;
}

// With the mask in its place whatever is pending is handled, in the moment of a poll of nothing.
int sigsuspend(const sigset_t* mask) {
  if (Controlled() < 0) return Real_sigsuspend()(mask);
  const CallerFrame frame(__builtin_return_address(0));
  constexpr timespec kNow = {};
  Thread& thread = state.threads[Self()];
  Point(PointKind::kSync, &thread.signals, "sigsuspend");
  while (Real_ppoll()(nullptr, 0, &kNow, mask) == 0) {
    Block(&thread.signals, WaitOn::kSignal, kNoLimit);
    if (thread.interruption > Interruption::kSent) break;
    if (thread.asks_kernel) {
      thread.asks_kernel = false;
      return Real_sigsuspend()(mask);
    }
  }
  errno = EINTR;
  return -1;
}

}  // extern "C"
