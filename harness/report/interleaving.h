// The run of a finding as a table: a column a thread, a row a step.
#pragma once

#include <cstddef>
#include <string>

#include "harness/case/case.h"
#include "harness/report/finding.h"

namespace handoff {

// Lines are at most this long, in bytes.
inline constexpr std::size_t kReportWidth = 130;
// Rows of one table; of a longer trace the first ones, the last ones and the marked ones are shown.
inline constexpr std::size_t kMaxRows = 60;

// The table, one line each, the failing step and the other access of a race marked with ">". Operations are written as in text
// cases. Switches between operations have no row: the next row stands in another column. Any thread.
std::string Interleaving(const Finding& finding, const Alphabet& alphabet);

}  // namespace handoff
