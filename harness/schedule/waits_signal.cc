// Signals that the threads of a run send each other. The receiver's handler runs when it has the baton, not beside the thread
// that has it: what the handler does is scheduled like all else, and the run is a function of its case.
//
// To the sanitizer a signal is no synchronisation, as ever (ThreadSanitizer makes no edge in pthread_kill).
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

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
constexpr int kFirstRealTime = 32;
bool IsSignal(int signal) { return signal >= 1 && signal <= kSignals; }
std::uint64_t Bit(int signal) { return 1ULL << (signal - 1); }

std::uint64_t Bits(const sigset_t& set) {
  std::uint64_t bits = 0;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (sigismember(&set, signal) == 1) bits |= Bit(signal);
  }
  return bits;
}

// The number in a line "NAME:<tab>HEX" of one of the kernel's files; 0 if there is none.
std::uint64_t ReadHex(const char* path, const char* name) {
  char text[4096];
  const long file = RawSyscall(SYS_openat, AT_FDCWD, Word(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const long size = RawSyscall(SYS_read, file, Word(text), sizeof text - 1);
  RawSyscall(SYS_close, file);
  text[size > 0 ? size : 0] = '\0';
  const char* found = __builtin_strstr(text, name);
  if (found == nullptr) return 0;
  std::uint64_t value = 0;
  for (found += __builtin_strlen(name); *found != '\0' && *found != '\n'; ++found) {
    const char c = *found;
    if (c >= '0' && c <= '9') value = value << 4 | static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') value = value << 4 | static_cast<unsigned>(c - 'a' + 10);
  }
  return value;
}

// Which signals a thread blocks. The kernel alone knows it of another thread that has run.
std::uint64_t BlockedBy(const Thread& thread) {
  if (thread.kernel_id == 0) return thread.blocked_at_birth;
  char path[64] = "/proc/self/task/";
  std::size_t length = __builtin_strlen(path);
  char digits[24];
  int count = 0;
  for (long id = thread.kernel_id; id > 0; id /= 10) digits[count++] = static_cast<char>('0' + id % 10);
  while (count > 0) path[length++] = digits[--count];
  __builtin_memcpy(path + length, "/status", sizeof "/status");
  return ReadHex(path, "SigBlk:");
}

bool Blocks(int signal) { return (OwnBlocked() & Bit(signal)) != 0; }

// What a signal that is not blocked does to a wait: kNone if no handler runs.
Interruption EffectOf(int signal) {
  struct sigaction action;
  if (sigaction(signal, nullptr, &action) != 0) return Interruption::kNone;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return Interruption::kNone;
  return (action.sa_flags & SA_RESTART) != 0 ? Interruption::kRestarts : Interruption::kHandled;
}

// How often a real-time signal was sent that is not delivered yet: those queue, the others are sent or not.
std::uint8_t times_sent[kMaxControlled][kSignals];

bool HasEnded(const Thread& thread) { return thread.state == ThreadState::kAbsent || thread.state == ThreadState::kDone; }

// Whether signals to this thread of the run are ours to deliver: not to the caller, which has the baton, nor to a created one
// that has ended. One of the program's that has ended is: its carrier waits for the next run.
bool IsOurs(int id) {
  const Thread& thread = state.threads[id];
  return id != Self() && (!thread.created || !HasEnded(thread));
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
// Who would handle a signal to the process: not one that has ended, which blocks nothing.
int FindUnblocked(int signal) {
  for (int id = 0; id < state.count; ++id) {
    const Thread& thread = state.threads[id];
    if (IsOurs(id) && !HasEnded(thread) && thread.handle != 0 && (BlockedBy(thread) & Bit(signal)) == 0) return id;
  }
  return -1;
}
int FindAwaiting(int signal) {
  for (int id = 0; id < state.count; ++id) {
    if (IsOurs(id) && (state.threads[id].awaited & Bit(signal)) != 0) return id;
  }
  return -1;
}

void Queue(Thread& thread, int signal) {
  std::uint8_t& times = times_sent[&thread - state.threads][signal - 1];
  if ((thread.signals & Bit(signal)) == 0) times = 0;
  if (times == 0 || (signal >= kFirstRealTime && times < UINT8_MAX)) ++times;
  thread.signals |= Bit(signal);
}

// A point, then the signal; false if the receiver has ended, then or before. What runs no handler there is the kernel's at once:
// it is blocked, and stays pending for who unblocks it or waits for it, or ignored.
bool Send(int id, int signal, const char* what) {
  Thread& thread = state.threads[id];
  const std::uint64_t enrolment = thread.enrolment;
  Point(PointKind::kSync, &thread, what);
  if (HasEnded(thread) || !IsOurs(id) || thread.enrolment != enrolment) return false;
  thread.hears = true;
  const Interruption effect = EffectOf(signal);
  if ((BlockedBy(thread) & Bit(signal)) != 0 || effect == Interruption::kNone) {
    Real_pthread_kill()(thread.handle, signal);
    if ((thread.awaited & Bit(signal)) != 0) Disturb(id, Interruption::kNone);
  } else {
    Queue(thread, signal);
    Disturb(id, effect);
  }
  return true;
}

int MinusOne(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void BlockSignals(std::uint64_t signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((signals & Bit(signal)) != 0) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// What was sent to the process while everybody blocked it, and the caller, who blocks it as well, can have.
void TakeFromProcess(std::uint64_t wanted) {
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((state.signals & wanted & Bit(signal)) == 0) continue;
    state.signals &= ~Bit(signal);
    Real_pthread_kill()(pthread_self(), signal);
  }
}

// After a wait for a signal that has found one: there may be more to find for those who were told to look in vain.
void LetOthersLook() {
  for (int id = 0; id < state.count; ++id) state.threads[id].asked = false;
}

// As sigtimedwait: what has been sent is the kernel's, since the caller blocks it.
int WaitSignal(const sigset_t* set, siginfo_t* info, const timespec* time, const char* what) {
  constexpr timespec kNow = {};
  Thread& thread = state.threads[Self()];
  Point(PointKind::kSync, &thread.signals, what);
  const Nanoseconds limit = time != nullptr ? LimitIn(*time) : kNoLimit;
  if (limit == kBadLimit) return MinusOne(EINVAL);
  thread.asked = false;
  for (;;) {
    TakeFromProcess(Bits(*set));
    const int signal = Real_sigtimedwait()(set, info, &kNow);
    if (signal >= 0) LetOthersLook();
    if (signal >= 0 || errno != EAGAIN) return signal;
    if (std::exchange(thread.asks_kernel, false)) return Real_sigtimedwait()(set, info, nullptr);
    if (limit != kNoLimit && state.now >= limit) return MinusOne(EAGAIN);
    thread.awaited = Bits(*set);
    Block(&thread.signals, WaitOn::kSignal, limit);
    thread.awaited = 0;
    if (thread.interruption != Interruption::kNone) return MinusOne(EINTR);
  }
}

}  // namespace

std::uint64_t OwnBlocked() {
  sigset_t mask;
  return pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 ? Bits(mask) : 0;
}

bool EndsWait(Interruption interruption, Nanoseconds limit) {
  return interruption == Interruption::kHandled || (interruption == Interruption::kRestarts && limit != kNoLimit);
}

// Sent to itself a signal is handled at once, by ThreadSanitizer too. Those of others it puts off until it is called next, which
// would be between the look at a lock and the wait for it: hence the call that does nothing. They come from the kernel when a
// thread unblocks them, or leaves the handler of another.
void DeliverSignals() {
  Thread& thread = state.threads[Self()];
  const Interruption interruption = thread.interruption;
  while (thread.signals != 0) {
    const int signal = std::countr_zero(thread.signals) + 1;
    thread.signals &= ~Bit(signal);
    for (int times = times_sent[Self()][signal - 1]; times > 0; --times) Real_pthread_kill()(pthread_self(), signal);
  }
  Real_pthread_kill()(pthread_self(), 0);
  thread.interruption = interruption;  // waits of the handlers have left theirs
}

// With the mask in its place whatever is pending is handled, in the moment of a poll of nothing.
int Suspend(const sigset_t* mask, Nanoseconds limit, const char* what) {
  if (limit == kBadLimit) return EINVAL;
  constexpr timespec kNow = {};
  Thread& thread = state.threads[Self()];
  Point(PointKind::kSync, &thread.signals, what);
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  if (mask == nullptr) mask = &own;
  thread.asked = false;
  int result = -1;
  while (result < 0) {
    BlockSignals(state.signals & ~Bits(*mask));  // so that the poll handles them
    TakeFromProcess(~Bits(*mask));
    if (Real_ppoll()(nullptr, 0, &kNow, mask) != 0) {
      result = errno;
      LetOthersLook();
    } else if (std::exchange(thread.asks_kernel, false)) {
      Real_sigsuspend()(mask);
      result = EINTR;
    } else if (limit != kNoLimit && state.now >= limit) {
      result = 0;
    } else {
      thread.awaited = ~Bits(*mask);
      pthread_sigmask(SIG_SETMASK, mask, nullptr);
      Block(&thread.signals, WaitOn::kSignal, limit);
      thread.awaited = 0;
      if (thread.interruption != Interruption::kNone) result = EINTR;
    }
    pthread_sigmask(SIG_SETMASK, &own, nullptr);
  }
  return result;
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

// To the process: any of its threads may get it, one that waits for it first. The kernel would prefer the main thread, which is
// not the program's.
int kill(pid_t process, int signal) noexcept {
  if (Controlled() < 0 || !IsSignal(signal) || process != getpid()) return Real_kill()(process, signal);
  const CallerFrame frame(__builtin_return_address(0));
  Point(PointKind::kSync, nullptr, "kill");
  const int awaiting = FindAwaiting(signal);
  if (awaiting < 0 && !Blocks(signal)) {
    return EffectOf(signal) == Interruption::kNone ? Real_kill()(process, signal) : Real_pthread_kill()(pthread_self(), signal);
  }
  const int unblocked = awaiting < 0 ? FindUnblocked(signal) : -1;
  if (unblocked >= 0 && Send(unblocked, signal, "kill")) return 0;
  state.signals |= Bit(signal);
  if (awaiting >= 0) Disturb(awaiting, Interruption::kNone);
  return 0;
}

int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  if (Controlled() < 0) return Real_sigwaitinfo()(set, info);
  const CallerFrame frame(__builtin_return_address(0));
  return WaitSignal(set, info, nullptr, "sigwaitinfo");
}
int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  if (Controlled() < 0) return Real_sigtimedwait()(set, info, time);
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

int sigsuspend(const sigset_t* mask) {
  if (Controlled() < 0) return Real_sigsuspend()(mask);
  const CallerFrame frame(__builtin_return_address(0));
  return MinusOne(Suspend(mask, kNoLimit, "sigsuspend"));
}

}  // extern "C"
