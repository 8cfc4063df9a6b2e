// A process that an operation forks: it is the operation's affair, and should find things as if nobody watched.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>

#include "harness/run/ends.h"
#include "harness/run/ends_state.h"

namespace handoff {
namespace {

bool IsSameFile(int a, int b) {
  struct stat first = {};
  struct stat second = {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// What a cold run prints is read as its finding, so its children are silent, unless the operation has made them a standard error
// of their own.
void BeSilent() {
  if (ends.place.role != Role::kColdChild || !IsSameFile(STDERR_FILENO, ends.place.report_file)) return;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDERR_FILENO);
  close(null);
}

// Signals that arrive between the fork and the moment when the child has its own ways: they wait, or our handlers would get them.
__thread sigset_t mask_before;

void HoldSignals() {
  if (!ends.running) return;
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : kCaughtSignals) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, &mask_before);
}
void LetSignalsIn() {
  if (ends.running) pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
}

void BeForked() {
  // In a child the runtime would not go on with our file but open one of its own, in whatever folder that is.
  SetReportFile(STDERR_FILENO);
  if (!ends.running) return;  // a fork of ours, which sees to the rest
  BeSilent();
  GiveSignalsBack();
  if (ends.place.alive >= 0) close(ends.place.alive);
  LetSignalsIn();
}

}  // namespace

void WatchForks() {
  static const int refused = pthread_atfork(HoldSignals, LetSignalsIn, BeForked);
  static_cast<void>(refused);
}

void LeaveForked(int status) {
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace handoff
