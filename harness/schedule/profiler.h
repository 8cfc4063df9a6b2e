// Finds out, in a pilot run, which steps touch what several threads touch: SURW's interesting steps (surw.cc).
//
// Objects are numbered in order of first appearance, which differs between schedules, so what is kept is not the objects but the
// steps: the n-th point of a thread. They hold for other schedules as far as the threads take the same way there.
#pragma once

#include <cstdint>

#include "harness/schedule/plan.h"
#include "harness/schedule/strategy.h"

namespace handoff::schedule {

// Objects told apart; any further one is taken for shared.
inline constexpr std::uint32_t kProfiledObjects = 1024;

// About 40 kB, so a static object of the scheduler's. The holder of the baton, or the driver between two runs.
class Profiler {
 public:
  // Forgets the last run.
  void Begin();
  // `thread` stands at an `op` or `sync` point (other kinds are ignored) before a step that touches `object` (its number; 0, not
  // known, counts as shared).
  void Note(int thread, PointKind kind, std::uint32_t object);
  // Sets `shared` and `shared_of` to what was seen since Begin, and leaves the rest as it is.
  void Fill(Profile& profile) const;

 private:
  bool IsShared(std::uint32_t object) const;

  std::uint32_t points_[kMaxControlled] = {};    // of each thread, also those beyond kProfiledSteps
  std::uint64_t overflow_[kMaxControlled] = {};  // `sync` points beyond kProfiledSteps
  ThreadSet touched_by_[kProfiledObjects] = {};
  std::uint16_t objects_[kMaxControlled][kProfiledSteps] = {};  // number of each point's object, or kNone, kUnknown
};

}  // namespace handoff::schedule
