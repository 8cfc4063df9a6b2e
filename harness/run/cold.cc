#include "harness/run/cold.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "harness/run/ends.h"
#include "harness/schedule/strategy.h"

namespace handoff {

namespace {

// Beyond its limit a child has this long to say where it stands, before it is killed.
constexpr int kGraceSeconds = 3;

// Whether the other end of a socket is closed.
bool IsClosed(int socket) {
  pollfd state = {.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// A child that left without an observation: not through End, so by _exit or a signal that nobody can handle.
void DescribeSilentEnd(int status, Observation& observation) {
  observation.end = EndKind::kFinding;
  observation.thread = -1;
  if (WIFSIGNALED(status)) {
    std::snprintf(observation.kind, sizeof observation.kind, "killed");
    std::snprintf(observation.detail, sizeof observation.detail, "the process was killed by signal %d", WTERMSIG(status));
  } else {
    std::snprintf(observation.kind, sizeof observation.kind, "exit");
    std::snprintf(observation.detail, sizeof observation.detail, "the process left with code %d in the middle of an execution",
                  WEXITSTATUS(status));
  }
}

void Forget(Observation& observation) {
  observation.end = EndKind::kNone;
  observation.kind[0] = observation.rule[0] = observation.detail[0] = '\0';
  observation.hash = observation.decisions = 0;
  observation.switch_count = observation.switches_lost = observation.step_count = observation.steps_lost =
      observation.stack_count = 0;
}

Outcome Lost(const char* what) {
  Outcome lost;
  lost.lost = true;
  lost.kind = "harness";
  lost.detail = std::string("expected ") + what + " from the system, found: " + std::strerror(errno);
  return lost;
}

// Its child or the one before was stopped while it wrote a report: nobody knows what the names in this one belong to.
Outcome WithoutNames() {
  Outcome lost;
  lost.lost = true;
  lost.kind = "harness";
  lost.detail = "expected the sanitizer's symbolizer to answer what it is asked, found the answers out of step";
  return lost;
}

// What the child has left running goes with it. Before its number can be another's: while it has ended, but is not yet forgotten.
int WaitFor(pid_t child) {
  siginfo_t ended = {};
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

ColdRunner::ColdRunner(Executor& executor, Subject& subject, Exchange& exchange, int caller)
    : executor_(executor), subject_(subject), exchange_(exchange), caller_(caller) {
  report_file_ = memfd_create("handoff-report", MFD_CLOEXEC);
}
ColdRunner::~ColdRunner() { close(report_file_); }

bool ColdRunner::Abandoned() const { return caller_ >= 0 && IsClosed(caller_); }

Outcome ColdRunner::Run(const Case& c, int limit_seconds, bool check_repeats) {
  const Task task = check_repeats ? Task::kRunAndRepeat : Task::kRun;
  if (!schedule::NeedsProfile(c.strategy)) return RunChild(c, nullptr, task, limit_seconds);
  if (!has_pilot_ || pilot_case_.threads != c.threads || pilot_case_.granularity != c.granularity) {
    has_pilot_ = false;
    Outcome pilot = RunChild(c, nullptr, Task::kPilot, limit_seconds);
    if (pilot.Failed() || pilot.lost) return pilot;  // fails without any voluntary switch: so be it
    pilot_case_ = c;
    pilot_profile_ = pilot.profile;
    has_pilot_ = true;
  }
  return RunChild(c, &pilot_profile_, task, limit_seconds);
}

Outcome ColdRunner::RunChild(const Case& c, const schedule::Profile* profile, Task task, int limit_seconds) {
  Forget(exchange_.cold);
  if (ftruncate(report_file_, 0) != 0 || lseek(report_file_, 0, SEEK_SET) != 0) return Lost("a file in memory");
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) != 0) return Lost("a pipe");
  std::fflush(nullptr);
  subject_.BeforeFork();
  const pid_t child = fork();
  if (child == 0) {
    close(alive[0]);
    BeChild(c, profile, task, limit_seconds, alive[1]);
  }
  const int refused = errno;
  subject_.AfterForkParent();
  close(alive[1]);
  if (child < 0) {
    close(alive[0]);
    errno = refused;
    return Lost("a process");
  }
  const bool ended = AwaitChild(alive[0], limit_seconds);
  close(alive[0]);
  if (!ended) kill(child, SIGKILL);
  const int status = WaitFor(child);
  if (exchange_.cold.end == EndKind::kNone && !ended) {
    exchange_.cold.end = EndKind::kTimeout;
    std::snprintf(exchange_.cold.kind, sizeof exchange_.cold.kind, "timeout");
  }
  if (exchange_.cold.end == EndKind::kNone) DescribeSilentEnd(status, exchange_.cold);
  Outcome outcome = ReadObservation(exchange_.cold, ReadReport(report_file_));
  // After the first report, since most processes see none. A time-out's stack has started it.
  if (!outcome.sites.empty() || !outcome.stacks.empty()) symbolizer_.Start();
  return !outcome.Failed() || symbolizer_.InStep() ? std::move(outcome) : WithoutNames();
}

void ColdRunner::BeChild(const Case& c, const schedule::Profile* profile, Task task, int limit_seconds, int alive) {
  setpgid(0, 0);                     // see WaitFor
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive the cold parent, even if that is killed
  subject_.AfterForkChild();
  dup2(report_file_, STDERR_FILENO);
  PrepareEnds({.role = Role::kColdChild,
               .exchange = &exchange_,
               .socket = -1,
               .report_file = report_file_,
               .alive = alive,
               .timeout_seconds = limit_seconds});
  InstallSignals();
  IgnoreInterruption();
  schedule::KeepStacks();
  BeginExecution(nullptr, 0);
  const std::uint64_t hash = (task == Task::kPilot ? executor_.ExecutePilot(c) : executor_.Execute(c, profile)).hash;
  Observe(EndKind::kClean, "", "", "", &exchange_.cold);
  if (task == Task::kRunAndRepeat) {
    exchange_.cold.end = EndKind::kNone;
    if (!executor_.Repeats(c, hash, profile)) EndNondeterministic();
    exchange_.cold.end = EndKind::kClean;
  }
  EndExecution();
  // Not exit: handlers of libraries and the sanitizers' own would run once per execution.
  LeaveAtOnce(0);
}

bool ColdRunner::AwaitChild(int alive, int limit_seconds) const {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(limit_seconds + kGraceSeconds);
  for (;;) {
    pollfd waits[2] = {{.fd = alive, .events = 0, .revents = 0}, {.fd = caller_, .events = POLLRDHUP, .revents = 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    const int n = poll(waits, caller_ >= 0 ? 2 : 1, static_cast<int>(left));
    if (n < 0 && errno == EINTR) continue;
    if (waits[0].revents != 0) return true;
    if (waits[1].revents != 0) return false;  // nobody wants to know any more
  }
}

namespace {

[[noreturn]] void Serve(int socket, ColdRunner& runner, Exchange& exchange, RequestHandler& handler) {
  IgnoreInterruption();
  for (;;) {
    char message = 0;
    const ssize_t n = read(socket, &message, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n != 1 || message != kRequest) break;
    handler.Handle(runner, exchange);
    const char answer = kAnswered;
    send(socket, &answer, 1, MSG_NOSIGNAL);
  }
  // The fuzzing process is gone. In the middle of an execution and without End: by _exit, or killed.
  if (exchange.in_flight != 0 && exchange.warm.end == EndKind::kNone) handler.HandleVanished(runner, exchange);
  LeaveAtOnce(0);
}

}  // namespace

int StartColdParent(Executor& executor, Subject& subject, Exchange& exchange, RequestHandler& handler) {
  int ends[2];
  std::fflush(nullptr);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    std::perror("handoff: findings will not be confirmed: socketpair");
    return -1;
  }
  subject.BeforeFork();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    subject.AfterForkChild();
    ColdRunner runner(executor, subject, exchange, ends[1]);
    Serve(ends[1], runner, exchange, handler);
  }
  subject.AfterForkParent();
  close(ends[1]);
  if (child >= 0) return ends[0];
  std::perror("handoff: findings will not be confirmed: fork");
  close(ends[0]);
  return -1;
}

}  // namespace handoff
