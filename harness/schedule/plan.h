// What the scheduler needs to know of a case before it runs: plain data, borrowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/case/case.h"

namespace handoff::schedule {

// Controlled threads of one execution: those of the program and those that they create. One bit each in a thread set.
inline constexpr int kMaxControlled = kMaxScheduled;
using ThreadSet = std::uint32_t;
// NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): a number, never -1
static constexpr ThreadSet Only(int thread) { return ThreadSet{1} << thread; }
static constexpr bool Has(ThreadSet set, int thread) { return (set >> thread & 1U) != 0; }

// Steps of a thread of which a pilot run remembers whether they touch something shared; later ones are taken for shared.
inline constexpr std::uint32_t kProfiledSteps = 1024;

// What a strategy must know beforehand, counted in a pilot run of the same program without any voluntary switch.
struct Profile {
  std::uint64_t steps = 0;                      // points of the plan's granularity, all threads (PCT's k)
  std::uint64_t steps_of[kMaxControlled] = {};  // `op` and `sync` points per thread, no accesses (SURW decides at these only)
  // Of those, the `sync` points whose object several threads touch: how many, and a bit for each of the first kProfiledSteps
  // points. Filled in by a Profiler (profiler.h); all zero where nothing is known.
  std::uint64_t shared_of[kMaxControlled] = {};
  std::uint64_t shared[kMaxControlled][kProfiledSteps / 64] = {};
};

struct Plan {
  Strategy strategy = Strategy::kListed;
  Granularity granularity = Granularity::kOp;
  std::uint8_t parameter = 0;           // see Case::parameter
  int threads = 0;                      // of the program; threads they create come later
  std::uint64_t seed = 0;               // Seed(case)
  const std::uint8_t* bytes = nullptr;  // borrowed from the case until the run has ended
  std::size_t byte_count = 0;
  const Switch* switches = nullptr;  // borrowed from the case until the run has ended
  std::size_t switch_count = 0;
  Profile profile = {};  // read only if NeedsProfile(strategy)
  bool pilot = false;    // fill in Record::profile whole, `shared` included: the run before one whose strategy needs it
};

}  // namespace handoff::schedule
