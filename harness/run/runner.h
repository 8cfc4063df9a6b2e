// Ties the parts together for one process: target, subject, executor, cold parent, ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/cold.h"
#include "harness/run/ends.h"
#include "harness/run/exchange.h"
#include "harness/run/executor.h"
#include "harness/run/options.h"
#include "harness/run/target.h"

namespace handoff {

// One a process, never destroyed: carriers, handlers and forks keep pointers into it. Main thread only.
class Runner {
 public:
  // Makes and initialises the subject. `target` is borrowed. `program` is argv[0].
  Runner(const Target& target, Options options, const char* program);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Before the process has a second thread: forks the cold parent and takes over all ends. For fuzzing.
  void StartFuzzing();
  // One input of the fuzzer, warm. Returns when nothing was found. A text case with an error is skipped.
  void RunInput(const std::uint8_t* data, std::size_t size);

  // Runs the files of the options cold, `runs` times each, and prints what fails. Returns the exit code.
  int ReplayCold();
  // The same once, in this process, for a debugger.
  int ReplayHere();

  const Options& options() const { return options_; }

 private:
  void TakeOverEnds(Role role, int socket, int report_file);
  // Runs the case again and judges a difference (Executor::Repeats).
  void CheckRepeatable(std::uint64_t first_hash);
  bool DifferenceIsExpected(const Case& c) const;
  void PrintClosing() const;

  const Target& target_;
  Options options_;
  std::unique_ptr<Subject> subject_;
  Executor executor_;
  EndsPlace place_;
  Exchange* exchange_;                       // shared with forks; null if the system refused
  std::unique_ptr<RequestHandler> handler_;  // the fork's; here only kept
  Case case_;                                // of RunInput, used again each time
  int unreadable_ = 0;                       // text cases of the corpus with an error
  bool first_input_ = true;
  std::uint64_t run_twice_ = 0;
  std::uint64_t differences_expected_ = 0;  // warm pairs of runs that differed where that is no finding
};

// Reads the options, and ends the process where there is nothing to run: a description or files as text (0), or an error (1). The
// runner lives as long as the process.
Runner& StartRunner(const Target& target, const std::vector<std::string>& arguments, const char* program);

}  // namespace handoff
