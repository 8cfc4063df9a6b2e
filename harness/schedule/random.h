// A small generator for the scheduler, SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), and the random walk built on it. Ours rather
// than <random>, whose templates would leave weak symbols in the uninstrumented files and whose distributions differ between
// libraries.
#pragma once

#include <cstdint>

#include "harness/schedule/plan.h"
#include "harness/schedule/strategy.h"

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

// 0 to bound - 1; bound is at least 1. By multiplication (Lemire, TOMACS 2019), since a division of 64 bits would take longer
// than all the rest of a decision; without his rejection, so with a bias that is below 2^-32 for the bounds used here.
static inline std::uint64_t Below(Random& random, std::uint64_t bound) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(Product{Next(random)} * bound >> 64);
}

// The n-th member of a set, counted from 0; n is below the set's size.
static inline int Member(ThreadSet set, int n) {
  while (n-- > 0) set &= set - 1;
  return __builtin_ctz(set);
}
static inline int Size(ThreadSet set) { return __builtin_popcount(set); }

// Any member of a set that is not empty, each with the same probability.
static inline int AnyOf(Random& random, ThreadSet set) {
  return Member(set, static_cast<int>(Below(random, static_cast<std::uint64_t>(Size(set)))));
}

// Whether a strategy that chooses timed waits last should let one time out all the same: when nobody else can run, and now and
// then while threads yield to each other, who may be waiting for just that. Otherwise such a program would be called a livelock.
static inline bool TimePasses(Random& random, const Decision& d) {
  if (d.timed == 0) return false;
  if (d.ready == 0) return true;
  return Yields(d) && (Others(d) == 0 || Below(random, 64) == 0);
}

// The walk itself: the strategy `random`, and how `bytes` goes on behind its input. Not thread-safe, like all strategies.
class RandomWalk {
 public:
  // `parameter`: see Case::parameter.
  void Begin(std::uint64_t seed, std::uint8_t parameter);
  int Choose(const Decision& d);
  std::int64_t NextAccess();

 private:
  Random random_;
  std::uint64_t switches_of_256_ = 0;  // probability of a switch at an `op` or `sync` point, in 256ths: 1 to 255
  std::uint64_t octaves_ = 0;          // distances are below 2^octaves_: 9 to 16
};

}  // namespace handoff::schedule
