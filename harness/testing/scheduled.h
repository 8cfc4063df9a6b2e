// Runs a text case as a target does, with the schedule that it lists: for tests of what only a certain interleaving does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "harness/case/case.h"
#include "harness/case/text.h"
#include "harness/run/executor.h"
#include "harness/subjects/subject.h"

namespace handoff {

// The number of the twin of that name as in Target::make; -1, the safe one, for the empty name.
inline int TwinNumber(std::span<const Twin> twins, std::string_view name) {
  if (name.empty()) return -1;
  const auto twin = std::ranges::find(twins, name, &Twin::name);
  if (twin != twins.end()) return static_cast<int>(twin - twins.begin());
  ADD_FAILURE() << "expected the name of a twin, found " << name;
  return -1;
}

// For the statement of a death test: runs the case on the subject `S` of a target and ends the process, with exit code 0 if no
// oracle has. `program` is what stands in the text behind its first line.
template <typename S>
void RunScheduled(std::string_view twin, schedule::Carrier carrier, const std::string& program) {
  const auto parsed = ParseCase(S::Operations(), "handoff case 1\n" + program, "case");
  if (const TextError* error = std::get_if<TextError>(&parsed)) ADD_FAILURE() << ToString(*error);
  // Both live until the end, since carriers keep a pointer to the executor.
  Subject& subject = *S::Make(TwinNumber(S::Twins(), twin)).release();
  subject.Initialize("scheduled");
  (new Executor(subject, carrier))->Execute(std::get<Case>(parsed));
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace handoff
