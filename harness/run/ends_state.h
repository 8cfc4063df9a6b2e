// Shared by ends.cc, forked.cc, signals.cc and sanitizer_hooks.cc, and by nobody else.
#pragma once

#include <csignal>

#include "harness/run/ends.h"

namespace handoff {

struct EndsState {
  EndsPlace place;
  long process = 0;  // which called PrepareEnds: a fork that did not has no business with the socket and the exchange
  // Id of the OS thread that ends the process, 0 while nobody does. Set once, by compare and exchange; everything below is that
  // thread's, and the signal handlers only look.
  long ending = 0;
  // Monotonic seconds since which End, or a sanitizer's handler of a fatal signal, is at work; 0 if none is. Whoever gets the
  // alarm afterwards (kAnswerSeconds, kReportSeconds) makes an end without them.
  long ending_since = 0;
  long report_since = 0;
  bool running = false;  // between BeginExecution and EndExecution
  // What is being reported since then: a fatal signal by the sanitizer's handler, or a time-out's stack. Null: nothing.
  const char* report_kind = nullptr;
  EndKind report_end = EndKind::kNone;
  std::uint64_t executions = 0;  // begun so far, for the watchdog
};
extern EndsState ends;

// What we catch for a process that runs cases, faults aside: what an operation forks gets them back.
// Not inline: an inline variable is a weak symbol, which these libraries must not have (weak_symbols.cmake).
constexpr int kCaughtSignals[] = {SIGINT, SIGTERM, SIGPIPE, SIGALRM, SIGURG, SIGABRT};

long ThreadId();
long Now();  // monotonic seconds

// The last resort: no allocation, no cold parent, no waiting. Writes the case in flight and exits with `code`.
[[noreturn]] void EndAtOnce(const char* file_name, int code);

// Sets or removes what the sanitizers call when they report or die (sanitizer_hooks.cc).
void SetSanitizerHooks(int report_file);
// Where the sanitizers print; nothing if they are not there, or `file` is -1.
void SetReportFile(int file);

// From now on what an operation forks is told so (forked.cc). Main thread, as often as you like.
void WatchForks();
// exit() in a process that an operation has forked. What is registered for an exit (by libFuzzer, say) is our process's affair.
[[noreturn]] void LeaveForked(int status);

}  // namespace handoff
