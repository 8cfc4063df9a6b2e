// What happened in an execution: every decision that differs from the default, the steps worth showing, and their hash.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/schedule/plan.h"
#include "harness/schedule/strategy.h"

namespace handoff::schedule {

// Steps kept for the trace. An execution with more keeps the first ones, where a loop is entered, and the last ones, where the
// finding is.
inline constexpr std::size_t kMaxSteps = 4096;
inline constexpr std::size_t kFirstSteps = 1024;
// Where step number `n` is kept.
static constexpr std::size_t StepSlot(std::size_t n) {
  return n < kFirstSteps ? n : kFirstSteps + (n - kFirstSteps) % (kMaxSteps - kFirstSteps);
}

enum class StepKind : std::uint8_t { kBegin, kEnd, kPoint, kSwitch, kWait, kTimeout, kCreate, kExit };

// One row of a trace.
struct Step {
  StepKind kind = StepKind::kBegin;
  PointKind point = PointKind::kOp;  // of a switch
  std::uint8_t thread = 0;
  std::uint8_t to = 0;       // of a switch or a creation
  std::uint32_t object = 0;  // of a point or a wait: number in order of first appearance, 0 if none
  Position at;
  const char* what = nullptr;  // of a point or a wait: a string literal, else null
  std::uint32_t times = 1;     // of a time-out: how often the same wait ended so, one right after the other
};

// Whether a point wakes who waits for its object, and is forgotten if nobody does: the one that a lost wake-up is about.
static inline bool IsWake(const char* what) {
  return what != nullptr && (__builtin_strcmp(what, "pthread_cond_signal") == 0 ||
                             __builtin_strcmp(what, "pthread_cond_broadcast") == 0 || __builtin_strcmp(what, "futex wake") == 0);
}

// Frames kept of a stack.
inline constexpr int kMaxFrames = 48;
// Of a failed run: where each thread waits, and where what it waits for was taken.
inline constexpr std::size_t kMaxStacks = std::size_t{2} * kMaxControlled;

enum class StackOf : std::uint8_t {
  kStands,  // the thread that failed, or that has the baton when the time is over
  kWaits,   // a thread that waits for `object`
  kTook,    // a thread that holds `object`, when it took it
};

// Return addresses of one thread, as the failed process knows them.
struct Stack {
  StackOf of = StackOf::kStands;
  bool decisive = true;      // of a deadlock: part of the cycle, or of what nobody could end; else a consequence
  std::int16_t thread = -1;  // -1: the driver
  std::uint32_t object = 0;  // number, as in a step
  const char* what =
      nullptr;  // kind of the object: a literal of the scheduler's own, the same in all forks; null if there is none
  int count = 0;
  std::uintptr_t frames[kMaxFrames] = {};  // innermost first
};

// Where a thread stood when it gave the baton away in the middle of an operation: enough frames to get out of the locks of
// CPython.
struct CodePlace {
  int count = 0;
  std::uintptr_t frames[20] = {};  // return addresses, innermost first
};

// Owned by the scheduler; the driver reads it between two runs, a failure handler at any time.
struct Record {
  std::uint64_t hash = 0;  // of all decisions, free of addresses: equal runs have equal hashes
  std::uint64_t decisions = 0;
  std::uint64_t accesses = 0;  // instrumented accesses of controlled threads
  std::size_t switch_count = 0;
  bool switches_lost = false;  // more than kMaxSwitches: the run cannot be written as `listed`
  std::size_t steps_lost = 0;  // those right behind the first kFirstSteps
  std::size_t step_count = 0;  // the number behind the newest one; step number n is at StepSlot(n)
  Profile profile;
  Switch switches[kMaxSwitches];
  Step steps[kMaxSteps];
  CodePlace places[kMaxSteps];  // of the step with the same index; only if stacks are kept (KeepStacks), else never written
  std::size_t stack_count = 0;  // none, unless the scheduler itself found the failure
  Stack stacks[kMaxStacks];
};

// The current run's, or the last one's. Any thread that holds the baton, the driver, and signal handlers (which may see it
// half-written).
const Record& CurrentRecord();

}  // namespace handoff::schedule
