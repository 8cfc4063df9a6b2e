// A case made smaller while it still fails in the same way, so that a person reads few rows.
#pragma once

#include <functional>

#include "harness/case/case.h"

namespace handoff {

// Whether a case is as good as the one that is to be made smaller. May run it.
using StillFails = std::function<bool(const Case&)>;
// Whether to stop: what was found so far is returned.
using IsOver = std::function<bool()>;

// Leaves out threads, operations and switches of a `listed` case, first many at once and then single ones, again and again until
// nothing more can be left out: what is returned needs each of them (delta debugging, Zeller and Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", 2002). It still fails, if `c` does.
Case Shrink(const Case& c, const StillFails& still_fails, const IsOver& is_over);

}  // namespace handoff
