// The cold parent: a process that was forked before there was a second thread, and forks one child per execution. What runs in
// such a child is the first run of a fresh process, so it is repeatable whatever the fuzzing process did before (law 5).
#pragma once

#include <memory>
#include <string>

#include "harness/case/case.h"
#include "harness/run/exchange.h"
#include "harness/run/executor.h"
#include "harness/run/outcome.h"
#include "harness/run/symbolizer.h"
#include "harness/subjects/subject.h"

namespace handoff {

// Runs cases in children. Used by one thread of a process that has no other.
class ColdRunner {
 public:
  // All are borrowed. `exchange` is shared with whoever forked this process. `caller` is a socket whose closing means that nobody
  // waits for the result any more, or -1.
  ColdRunner(Executor& executor, Subject& subject, Exchange& exchange, int caller);
  ColdRunner(const ColdRunner&) = delete;
  ColdRunner& operator=(const ColdRunner&) = delete;
  ~ColdRunner();

  // One execution of `c`, which must be valid, as the first run of a fork. A child that takes longer than `limit_seconds` is a
  // time-out. A strategy that needs a profile gets it from a pilot in a child of its own, so that the run stays the first. With
  // `check_repeats`, a clean run is followed by others in the same child (Executor::Repeats), and a difference is the finding
  // "nondeterministic"; the outcome's hash is still the first run's.
  Outcome Run(const Case& c, int limit_seconds, bool check_repeats = false);

  // Whether `caller` is gone.
  bool Abandoned() const;
  // From now on nobody is waiting, and that is in order.
  void ForgetCaller() { caller_ = -1; }

 private:
  enum class Task : std::uint8_t { kPilot, kRun, kRunAndRepeat };
  Outcome RunChild(const Case& c, const schedule::Profile* profile, Task task, int limit_seconds);
  [[noreturn]] void BeChild(const Case& c, const schedule::Profile* profile, Task task, int limit_seconds, int alive);
  // Waits for the child whose end of a pipe is `alive`; false if it had to be killed.
  bool AwaitChild(int alive, int limit_seconds) const;

  Executor& executor_;  // borrowed
  Subject& subject_;    // borrowed
  Exchange& exchange_;  // borrowed
  int caller_;
  int report_file_;  // owned; what the children print
  SharedSymbolizer symbolizer_;
  // The last pilot, since a confirmation runs many schedules of one program.
  Case pilot_case_;
  schedule::Profile pilot_profile_;
  bool has_pilot_ = false;
};

// What to do with a finding, in the cold parent.
class RequestHandler {
 public:
  RequestHandler() = default;
  RequestHandler(const RequestHandler&) = delete;
  RequestHandler& operator=(const RequestHandler&) = delete;
  virtual ~RequestHandler() = default;
  // A failing thread waits: reads its case and observation, fills in `answer` and `path`.
  virtual void Handle(ColdRunner& runner, Exchange& exchange) = 0;
  // The fuzzing process has vanished in the middle of the case in the exchange.
  virtual void HandleVanished(ColdRunner& runner, Exchange& exchange) = 0;
};

// Forks the cold parent, which serves requests until the other end of the socket is closed, and never returns there. Main thread
// of a process without another one. Returns the socket, or -1 with a sentence on standard error if the system refuses. All
// arguments are borrowed for the rest of both processes.
int StartColdParent(Executor& executor, Subject& subject, Exchange& exchange, RequestHandler& handler);

}  // namespace handoff
