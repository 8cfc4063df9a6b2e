// What a trace says about where the threads stood at its end. Used by the signature and the explanation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/report/finding.h"

namespace handoff {

// Any thread may call these functions.

// The thread that failed: the one that noticed, or who had the baton when the trace ended; -1 if there is none, as behind the end
// of all threads.
int FailingThread(const Finding& finding);

// The operation in the middle of which it failed; nothing between operations, behind the last one, and in threads that are not
// the program's.
std::optional<Operation> FailingOperation(const Finding& finding);

// Kinds of the objects that threads still wait for at the end, sorted, each once: "condition variable", "mutex". Only those of
// the cycle where the scheduler found one ("Cycle: A -> B -> A." in the detail), since bystanders vary from case to case.
std::vector<std::string> WaitedFor(const Finding& finding);

// Whether the scheduler found a cycle of threads that wait for each other.
bool HasCycle(const Finding& finding);

// The thread that made the other access of a race, or freed the memory; -1 if the finding does not tell.
int OtherThread(const Finding& finding);

}  // namespace handoff
