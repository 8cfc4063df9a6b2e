// Changes to a program that keep its listed switches where they were: a switch is anchored to an operation by number, so whoever
// inserts or removes operations (the mutator, the minimiser) has to renumber.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/case/case.h"

namespace handoff {

// Inserts `operation` before number `index` of `thread` (or at the end). The caller keeps to kMaxOperations.
void InsertOperation(Case& c, std::size_t thread, std::size_t index, const Operation& operation);

// Removes operation number `index` of `thread`, and the switches inside it. Returns what was removed.
Operation EraseOperation(Case& c, std::size_t thread, std::size_t index);

// `c` without the operations that the mutator never chooses (OperationKind::weight 0): without those of each kind, and where it
// has several kinds, last, without any. Empty if it has none.
std::vector<Case> WithoutUnchosen(const Alphabet& alphabet, const Case& c);

// Removes `thread` with its operations and all switches from or to it; the threads behind it move up by a letter. The caller
// leaves at least one thread.
void EraseThread(Case& c, std::size_t thread);

// Puts the operations of `from` behind those of `into`, another thread, and removes `from`. Switches follow their operations, but
// those between the two go; they stay in their order, in which the new thread may not come by them.
void MergeThreads(Case& c, std::size_t into, std::size_t from);

// Puts the first `count` operations of `from` before those of `to`, another thread. Switches follow their operations.
void MoveOperations(Case& c, std::size_t from, std::size_t count, std::size_t to);

// Exchanges the letters of two threads, in the schedule too.
void SwapThreads(Case& c, std::size_t first, std::size_t second);

}  // namespace handoff
