// A finding: a failed judgement with all that is needed to replay and explain it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/case/case.h"
#include "harness/schedule/record.h"

namespace handoff {

// One of the two accesses of a race, the access of a memory error, or where a thread of a deadlock waits. Inside the C library,
// the harness or, of a wait, CPython's locks the site is the first caller that is the subject's.
struct Site {
  std::string module;    // base name of the binary or library: "dlpack_capsule"
  std::string function;  // demangled, without arguments and template arguments; "" if the report has no name
  std::string access;    // "read", "write", "atomic read", "atomic write", "free", "lock"; "" if it is none of them.
                         // Of a deadlock what is waited for: "mutex"
  std::string place;     // "capsule.cc:12"; "" if unknown. No part of a signature: lines change
  int reported = -1;     // the report's number of the thread, 2 for T2 and 0 for the main thread; -1 if it has none
  int thread = -1;       // of a deadlock: whose, 0 for A; else -1
  bool decisive =
      true;  // of a deadlock: part of the cycle, or of what nobody could end. Others wait as well, and may be to blame
};

// One row of the trace, copied from the scheduler's record.
using TraceStep = schedule::Step;

struct Finding {
  std::string kind;              // "data-race", "heap-use-after-free", "double-delete", "deadlock", "abort", "timeout", ...
  std::string target;            // target's name
  std::string twin;              // twin's name, or "" for the safe one
  std::string breach;            // what that twin does wrong, a sentence; "" for the safe one
  bool has_twins = true;         // whether the target has any, so that the safe one is worth a word
  std::string rule;              // the oracle's rule, or ""
  std::string detail;            // the oracle's or the scheduler's sentences; for signals the name
  std::vector<Site> sites;       // of sanitizer reports: racing pair, or the failing access; of deadlocks: who waits
  std::string report;            // the sanitizer's own text, or stacks of the scheduler's; "" if none
  Case recorded;                 // the case that fails, in the form in which it is published
  Site where;                    // where the failing thread stood, of what has no sites; function "" if unknown
  std::vector<TraceStep> trace;  // of the failing run, oldest first
  std::size_t steps_lost = 0;    // not kept, behind the first schedule::kFirstSteps of the trace
  // Of each of its steps where the thread stood in the subject's code: "capsule.cc:12"; "" where that is unknown or follows from
  // the operation. Empty if nothing is known.
  std::vector<std::string> places;
  std::uint64_t trace_hash = 0;
  int thread = -1;  // which noticed and where it stood then; -1: the driver, or what the trace ends with
  Position at;
};

}  // namespace handoff
