// A small generator for the scheduler: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Ours rather than <random>, whose templates
// would leave weak symbols in the uninstrumented files and whose distributions differ between libraries.
#pragma once

#include <cstdint>

#include "harness/schedule/plan.h"

namespace handoff::schedule {

struct Random {
  std::uint64_t state = 0;
};

static inline std::uint64_t Next(Random& random) {
  std::uint64_t z = random.state += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// 0 to bound - 1; bound is at least 1. The modulo's bias is below 2^-32 for the bounds used here.
static inline std::uint64_t Below(Random& random, std::uint64_t bound) { return Next(random) % bound; }

// The n-th member of a set, counted from 0; n is below the set's size.
static inline int Member(ThreadSet set, int n) {
  while (n-- > 0) set &= set - 1;
  return __builtin_ctz(set);
}
static inline int Size(ThreadSet set) { return __builtin_popcount(set); }

}  // namespace handoff::schedule
