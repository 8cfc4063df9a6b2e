// A case made smaller while it still fails in the same way, so that a person reads few rows.
#pragma once

#include <functional>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/smaller.h"

namespace handoff {

// What a run of a case came to.
struct Trial {
  bool fails = false;              // as the case that is to be made smaller does
  std::vector<Switch> switches{};  // that were taken: with these, whatever its strategy was, it fails as `listed`
  std::vector<Place> places{};     // that it came by, in order
};
// Runs a case, as the first run of a fresh process. May take a while.
using RunTrial = std::function<Trial(const Case&)>;
// Whether to stop. Asked before each run.
using IsOver = std::function<bool()>;
// Is given what failed, each smaller than the one before it. May take a while.
using OnSmaller = std::function<void(const Case&)>;

// Makes a `listed` case smaller by the measure of SizeOf, again and again until nothing of what is known here makes it smaller:
//
//   leaves out threads, operations and switches, first many at once and then single ones (delta debugging, Zeller and
//   Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002), and pairs of operations; puts two threads into one;
//   chooses a coarser granularity, simpler places of switches and smaller arguments;
//   looks for another schedule where a smaller program passes: a switch is anchored to what an operation does, and that changes
//   with the operations before it.
//
// `on_smaller` gets what fails on the way; the last one is the result, and there need be none. No case is run twice. The same
// answers of `run` give the same result, as long as the time is not over.
void Shrink(const Case& c, const RunTrial& run, const IsOver& is_over, const OnSmaller& on_smaller);

}  // namespace handoff
