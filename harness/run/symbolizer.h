// One symbolizer process for all cold runs. A sanitizer starts one for its first report, and reads all debug information again:
// of a run that fails in 40 to 150 ms, that is all but 8.
#pragma once

#include <array>
#include <string>

namespace handoff {

// Of a process that forks children, one after the other. They inherit the sanitizer's pipes to the process that it has started,
// so their questions and answers must stay in step: a child that is stopped between the two leaves an answer behind, which the
// next one would take for its own. Without a sanitizer nothing happens. One thread.
class SharedSymbolizer {
 public:
  // Makes the sanitizer of this process start its symbolizer, at the first call.
  void Start();
  // Whether it still answers what it is asked. Once it does not, it never does again.
  bool InStep();

 private:
  bool started_ = false;
  bool in_step_ = true;
  std::array<std::string, 2> answers_;  // to two questions whose answers differ
};

}  // namespace handoff
