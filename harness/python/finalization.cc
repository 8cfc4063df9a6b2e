#include "harness/python/finalization.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "harness/oracle/verdict.h"
#include "harness/python/subinterpreter.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizers' own, in builds that have one
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void* file);

namespace handoff::python {
namespace {

// Nothing else ends a process with these.
constexpr int kCleanExit = 42;
constexpr int kVerdictExit = 43;

// A verdict on its way through a pipe.
struct Message {
  char kind[64];
  char rule[16];
  char detail[1024];
};
static_assert(sizeof(Message) <= PIPE_BUF, "written in one piece");
int verdict_pipe[2];

void SendVerdict(const oracle::Verdict& verdict) {
  Message message{};
  std::snprintf(message.kind, sizeof message.kind, "%s", verdict.kind);
  std::snprintf(message.rule, sizeof message.rule, "%s", verdict.rule);
  std::snprintf(message.detail, sizeof message.detail, "%s", verdict.detail);
  const bool sent = write(verdict_pipe[1], &message, sizeof message) == sizeof message;
  _exit(sent ? kVerdictExit : 1);
}

[[noreturn]] void RepeatVerdict() {
  // Static: a verdict borrows its strings until the process ends.
  static Message message;
  if (read(verdict_pipe[0], &message, sizeof message) != sizeof message) {
    oracle::Fail("harness", "", "Expected a verdict from the child that finalises, found none.");
  }
  oracle::Fail(message.kind, message.rule, "%s", message.detail);
}

// A crash of the child is an answer, not a finding of the child's own: no handler, no report, no file.
void BecomeQuiet() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  oracle::SetVerdictHandler(&SendVerdict);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  // In a child the sanitizers' runtime would open a file of its own for its report, in whatever folder we are.
  if (__sanitizer_set_report_fd != nullptr) __sanitizer_set_report_fd(reinterpret_cast<void*>(STDERR_FILENO));
}

[[noreturn]] void RunChild(void (*before)(void*), void (*after)(void*), void* context) {
  BecomeQuiet();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody else would end a child that is blocked
  AttachMain();
  if (before != nullptr) before(context);
  EndSubinterpreter();
  Py_FinalizeEx();
  after(context);
  _exit(kCleanExit);
}

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of its main thread: the sanitizer's own wakes up all the time.
bool Sleeps(pid_t child) {
  char path[32];
  char line[256] = {};
  std::snprintf(path, sizeof path, "/proc/%d/stat", child);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool read_some = read(file, line, sizeof line - 1) > 0;
  close(file);
  const char* name_end = read_some ? std::strrchr(line, ')') : nullptr;  // a name may hold blanks
  return name_end != nullptr && std::strncmp(name_end, ") S", 3) == 0;
}

// Whether it ended by itself; if not, it was killed.
bool WaitFor(pid_t child, int& status) {
  clockid_t used = 0;
  clock_getcpuclockid(child, &used);
  double asleep_since = Seconds(CLOCK_MONOTONIC);
  while (waitpid(child, &status, WNOHANG) == 0) {
    const double now = Seconds(CLOCK_MONOTONIC);
    if (!Sleeps(child)) asleep_since = now;
    if (now - asleep_since > kBlockedSeconds || Seconds(used) > kFinalizationSeconds) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    usleep(1000);
  }
  return true;
}

}  // namespace

AfterFinalization FinalizeInChild(void (*before)(void* context), void (*after)(void* context), void* context) {
  if (pipe2(verdict_pipe, O_CLOEXEC) != 0) oracle::Fail("harness", "", "Expected to make a pipe, found error %d.", errno);
  // Without CPython's hooks, which would delete the states of the other threads and the subinterpreter at a time when that is
  // fatal. They are for forks at any moment; here everybody is detached and holds no lock.
  const pid_t child = fork();
  if (child == 0) RunChild(before, after, context);
  if (child < 0) oracle::Fail("harness", "", "Expected to fork a child for the finalisation, found error %d.", errno);
  int status = 0;
  const bool ended = WaitFor(child, status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kVerdictExit) RepeatVerdict();
  close(verdict_pipe[0]);
  close(verdict_pipe[1]);
  if (!ended) return AfterFinalization::kBlocked;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    oracle::Fail("harness", "", "The system killed the child that finalises: is memory short?");
  }
  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == kCleanExit;
  return clean ? AfterFinalization::kClean : AfterFinalization::kCrashed;
}

void JudgeAfterFinalization(AfterFinalization how, const char* rule, const char* late) {
  if (how == AfterFinalization::kClean) return;
  const bool crashed = how == AfterFinalization::kCrashed;
  oracle::Fail("after-finalization", rule,
               "%s that ran after Py_FinalizeEx %s. Whoever is late may not attach: leak the reference.", late,
               crashed ? "crashed" : "never returned");
}

}  // namespace handoff::python
