#include "harness/python/finalization.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "harness/oracle/verdict.h"

namespace handoff::python {
namespace {

constexpr int kCleanExit = 42;  // nothing else ends a process with it

// A crash of the child is an answer, not a finding of the child's own: no handler, no report, no file.
void BecomeQuiet() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
}

[[noreturn]] void RunChild(void (*work)(void*), void* context) {
  BecomeQuiet();
  alarm(kFinalizationSeconds);
  AfterForkChild();
  AttachMain();
  Py_FinalizeEx();
  work(context);
  _exit(kCleanExit);
}

}  // namespace

AfterFinalization FinalizeInChild(void (*work)(void*), void* context) {
  BeforeFork();
  const pid_t child = fork();
  if (child == 0) RunChild(work, context);
  AfterForkParent();
  if (child < 0) oracle::Fail("harness", "", "Expected to fork a child for the finalisation, found error %d.", errno);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    oracle::Fail("harness", "", "The system killed the child that finalises: is memory short?");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCleanExit) return AfterFinalization::kClean;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? AfterFinalization::kBlocked : AfterFinalization::kCrashed;
}

}  // namespace handoff::python
