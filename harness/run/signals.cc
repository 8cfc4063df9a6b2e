// Signal handlers and the watchdog, below libc and the sanitizers: see InstallSignals.
#include <fcntl.h>
#include <poll.h>
#include <ucontext.h>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "harness/run/artifact.h"
#include "harness/run/ends.h"
#include "harness/run/ends_state.h"
#include "harness/schedule/frame_walk.h"
#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/scheduler.h"
#include "harness/schedule/signal_stack.h"

#ifdef __x86_64__
// Where a handler returns to. Spelled as libc spells it, because unwinders and debuggers know a signal frame by these bytes.
asm(".text\n"
    ".balign 16\n"
    "nop\n"
    "handoff_signal_return:\n"
    "movq $15, %rax\n"
    "syscall\n");
extern "C" void handoff_signal_return();
#endif

namespace handoff {

namespace {

using schedule::RawSyscall;
using schedule::Word;

// The kernel's struct sigaction and what goes with it, which libc hides.
using Handler = void (*)(int, siginfo_t*, void*);
struct KernelAction {
  std::uintptr_t handler;  // a Handler, or SIG_DFL (0), SIG_IGN (1)
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};
constexpr unsigned long kRestorer = 0x04000000;
constexpr long kMaskBytes = sizeof(unsigned long);
constexpr unsigned long kFlags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;

constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr const char* kFatalKinds[] = {"segv", "bus", "ill", "fpe", "abort"};
constexpr int kFatalCount = 5;
// The sanitizer's own handlers, which print the stack at the fault.
KernelAction sanitizer_actions[kFatalCount];
bool sanitizer_actions_known = false;

void SetAction(int signal, Handler handler, KernelAction* old = nullptr) {
  KernelAction action = {.handler = reinterpret_cast<std::uintptr_t>(handler), .flags = kFlags, .restorer = nullptr, .mask = 0};
#ifdef __x86_64__
  action.restorer = handoff_signal_return;
  action.flags |= kRestorer;
#endif
  RawSyscall(SYS_rt_sigaction, signal, Word(&action), Word(old), kMaskBytes);
}

int IndexOf(int signal) {
  int i = 0;
  while (i < kFatalCount - 1 && kFatalSignals[i] != signal) ++i;
  return i;
}

void OnFatal(int signal, siginfo_t* info, void* context) {
  schedule::LeaveUnwinder();
  const int i = IndexOf(signal);
  const KernelAction& sanitizer = sanitizer_actions[i];
  const bool can_report = (sanitizer.flags & SA_SIGINFO) != 0 && sanitizer.handler > 1;
  // A fault inside the report of a fault, or while another end is on its way: no second report.
  if (can_report && ends.report_kind == nullptr && ends.ending == 0) {
    ends.report_end = EndKind::kFinding;
    ends.report_kind = kFatalKinds[i];
    ends.report_since = Now();
    // Comes back to us as a death callback (sanitizer_hooks.cc).
    reinterpret_cast<Handler>(sanitizer.handler)(signal, info, context);  // NOLINT(performance-no-int-to-ptr)
  }
  End(EndKind::kFinding, kFatalKinds[i], "", "");
}

void OnInterruption(int, siginfo_t*, void*) {
  if (ends.ending != 0) EndAtOnce("unconfirmed", kExitInterrupted);
  End(EndKind::kInterrupted, "interrupted", "", "");
}

void OnIgnored(int, siginfo_t*, void*) {}

// Written to a reader that is gone. If it was the sanitizer's symbolizer, there is a report to be made without names, or
// libFuzzer's line about a function; but who prints between two executions and has nobody left to tell may as well end.
void OnPipe(int, siginfo_t*, void*) {
  pollfd errors = {.fd = 2, .events = 0, .revents = 0};
  timespec no_time = {};
  const bool gone = RawSyscall(SYS_ppoll, Word(&errors), 1, Word(&no_time), 0, 0) == 1 && (errors.revents & POLLERR) != 0;
  const bool between = ends.place.role == Role::kWarm && !ends.running && ends.ending == 0 && ends.report_since == 0;
  if (gone && between) End(EndKind::kInterrupted, "interrupted", "", "");
}

// The frames of an interrupted thread. Should the unwinder hang on a lock that the signal struck in, the alarm gets us on.
void CollectFrames(const void* context, Observation* observation) {
  schedule::Stack* to = &observation->stacks[0];
  *to = schedule::Stack{};
  observation->stack_count = 1;
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#ifdef __x86_64__
  const auto struck = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  const auto struck = static_cast<std::uintptr_t>(machine.pc);
#endif
  to->thread = static_cast<std::int16_t>(schedule::Self());
  to->frames[0] = struck;
  schedule::FrameWalk walk = {.frames = to->frames, .count = &to->count, .limit = schedule::kMaxFrames, .start = struck};
  schedule::WalkFrames(walk);
  if (to->count == 0) to->count = 1;  // it did not get past the signal
}

Observation* Own() {
  Exchange* exchange = ends.place.exchange;
  if (exchange == nullptr) return nullptr;
  return ends.place.role == Role::kColdChild ? &exchange->cold : &exchange->warm;
}

int stack_wanted_of = -2;      // controlled thread whose frames are asked for; -1: whoever works outside of operations
std::uint32_t stack_done = 0;  // futex word

// Whether the calling thread is the one asked for.
bool IsWanted() {
  if (stack_wanted_of != -1) return schedule::Self() == stack_wanted_of;
  const long errand = schedule::ErrandThread();
  return ThreadId() == (errand != 0 ? errand : ends.process);  // the driver is the main thread
}

// Sent to every thread after a time-out: the one asked for leaves its frames.
void OnStackRequest(int, siginfo_t*, void* context) {
  if (!IsWanted() || __atomic_load_n(&stack_done, __ATOMIC_RELAXED) != 0) return;
  CollectFrames(context, Own());
  // Release: the frames are read by whoever sees the flag.
  __atomic_store_n(&stack_done, 1U, __ATOMIC_RELEASE);
  schedule::FutexWake(&stack_done, 1);
}

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

void SignalEveryOtherThread(int signal) {
  alignas(8) static char buffer[4096];
  const long folder = RawSyscall(SYS_openat, AT_FDCWD, Word("/proc/self/task"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const long process = RawSyscall(SYS_getpid);
  const long me = ThreadId();
  long n = 0;
  while ((n = RawSyscall(SYS_getdents64, folder, Word(buffer), sizeof buffer)) > 0) {
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      long thread = 0;
      for (const char* digit = entry->name; *digit >= '0' && *digit <= '9'; ++digit) thread = thread * 10 + (*digit - '0');
      if (thread != 0 && thread != me) RawSyscall(SYS_tgkill, process, thread, signal);
      at += entry->length;
    }
  }
  RawSyscall(SYS_close, folder);
}

// Who holds the baton, read off the last row of the trace; -1 if nobody runs.
int Holder() {
  const schedule::Record& record = schedule::CurrentRecord();
  if (record.step_count == 0) return -1;
  const schedule::Step& last = record.steps[schedule::StepSlot(record.step_count - 1)];
  if (last.kind == schedule::StepKind::kExit) return -1;  // nobody was left to switch to
  return last.kind == schedule::StepKind::kSwitch ? last.to : last.thread;
}

void FindStack(const void* context) {
  Observation* own = Own();
  if (own == nullptr) return;
  stack_wanted_of = Holder();
  if (IsWanted()) {  // also a fiber of this OS thread
    CollectFrames(context, own);
    return;
  }
  SignalEveryOtherThread(SIGURG);
  for (int i = 0; i < 20 && __atomic_load_n(&stack_done, __ATOMIC_ACQUIRE) == 0; ++i) {
    timespec wait = {.tv_sec = 0, .tv_nsec = 50'000'000};
    RawSyscall(SYS_futex, Word(&stack_done), FUTEX_WAIT_PRIVATE, 0, Word(&wait));
  }
  if (__atomic_load_n(&stack_done, __ATOMIC_ACQUIRE) == 0) CollectFrames(context, own);  // better than nothing
}

[[noreturn]] void EndTimeout(const void* context) {
  ends.report_since = Now();  // from here on the alarm only sees to it that we get on
  ends.report_end = EndKind::kTimeout;
  ends.report_kind = "timeout";
  static char detail[] = "one execution took longer than      s: raise the limit with -timeout=, or look at where it stands";
  int seconds = ends.place.timeout_seconds;
  for (int i = 34; i >= 31 && seconds > 0; --i, seconds /= 10) detail[i] = static_cast<char>('0' + seconds % 10);
  FindStack(context);
  End(EndKind::kTimeout, "timeout", "", detail);
}

// Once a second or oftener, on any thread, the main one if the kernel can.
void OnAlarm(int, siginfo_t*, void* context) {
  static std::uint64_t seen = 0;
  static long since = 0;
  const long now = Now();
  if (ends.ending != 0 || ends.report_since != 0) {
    if (ends.ending_since != 0 && now - ends.ending_since > ends.place.answer_seconds + kReportSeconds)
      EndAtOnce("unconfirmed", kExitFinding);
    if (ends.ending == 0 && now - ends.report_since > kReportSeconds) End(ends.report_end, ends.report_kind, "", "");
    return;
  }
  if (!ends.running || ends.executions != seen) {
    seen = ends.executions;
    since = now;
    return;
  }
  if (ends.place.timeout_seconds > 0 && now - since >= ends.place.timeout_seconds) EndTimeout(context);
}

void StartTimer() {
  static bool started = false;
  static long owner = 0;
  const long me = RawSyscall(SYS_getpid);
  if (started && owner == me) return;  // a fork does not inherit timers
  started = true;
  owner = me;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  int timer = 0;
  RawSyscall(SYS_timer_create, CLOCK_MONOTONIC, Word(&event), Word(&timer));
  itimerspec every = {};
  every.it_interval.tv_nsec = 500'000'000;
  every.it_value = every.it_interval;
  RawSyscall(SYS_timer_settime, timer, 0, Word(&every), 0);
}

}  // namespace

void InstallSignals() {
  schedule::EnsureSignalStack(-1);
  for (int i = 0; i < kFatalCount; ++i) {
    // libFuzzer leaves a sanitizer's handlers alone, so what was there at the first call is the sanitizer's.
    SetAction(kFatalSignals[i], OnFatal, sanitizer_actions_known ? nullptr : &sanitizer_actions[i]);
  }
  sanitizer_actions_known = true;
  SetAction(SIGINT, OnInterruption);
  SetAction(SIGTERM, OnInterruption);
  SetAction(SIGPIPE, OnPipe);
  SetAction(SIGALRM, OnAlarm);
  SetAction(SIGURG, OnStackRequest);
  StartTimer();
}

void IgnoreInterruption() {
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) SetAction(signal, OnIgnored);  // SIGPIPE: a symbolizer that has died
}

void GiveSignalsBack() {
  static constexpr Handler kOurs[] = {OnInterruption, OnPipe, OnIgnored, OnAlarm, OnStackRequest, OnFatal};
  const KernelAction by_default = {};
  for (const int signal : kCaughtSignals) {
    KernelAction action = {};
    RawSyscall(SYS_rt_sigaction, signal, 0, Word(&action), kMaskBytes);
    for (const Handler ours : kOurs) {
      if (action.handler != reinterpret_cast<std::uintptr_t>(ours)) continue;
      RawSyscall(SYS_rt_sigaction, signal, Word(&by_default), 0, kMaskBytes);
    }
  }
}

}  // namespace handoff
