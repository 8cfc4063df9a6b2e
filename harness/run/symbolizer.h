// One symbolizer process for all cold runs. A sanitizer starts one for its first report, and reads all debug information again:
// of a run that fails in 40 to 150 ms, that is all but 8.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace handoff {

// What the sanitizer's symbolizer says of an address, in its own format: a line for each function that is inlined there. Empty
// without a sanitizer. Any thread.
std::vector<std::string> Symbolize(std::uintptr_t pc, const char* format);

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
  // To two questions whose answers differ: what there is at two places of the same file.
  using Answers = std::array<std::vector<std::string>, 2>;
  static Answers Ask();

  bool started_ = false;
  bool in_step_ = true;
  Answers answers_;
};

}  // namespace handoff
