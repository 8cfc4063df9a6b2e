#include "harness/schedule/random.h"

#include <gtest/gtest.h>

#include "harness/schedule/event_model.h"

namespace handoff::schedule {
namespace {

using model::FiveSigma;
using model::LostUpdate;
using model::Sample;
using model::Share;

constexpr int kRuns = 20'000;

Plan RandomPlan(Granularity granularity, std::uint8_t parameter) {
  Plan plan;
  plan.strategy = handoff::Strategy::kRandom;
  plan.granularity = granularity;
  plan.parameter = parameter;
  return plan;
}

// Whoever comes first reads; the only point that matters lies between his read and his write. A switch there, probability p, and
// the other one reads too early.
TEST(RandomTest, LosesAnUpdateBetweenOperationsWithTheSwitchProbability) {
  for (const int parameter : {13, 51, 128, 255}) {
    const double p = parameter / 256.0;
    const Plan plan = RandomPlan(Granularity::kOp, static_cast<std::uint8_t>(parameter));
    EXPECT_NEAR(Share(Sample(model::Operations(2, 2), plan, kRuns), LostUpdate), p, FiveSigma(p, kRuns)) << parameter;
  }
}

// As above, with a further point before the reads. The first thread, X, stands before its read:
// - no switch (1 - p); X reads; switch (p); Y stands before its read; no switch (1 - p): lost. A switch back: X writes first.
// - switch (p); Y stands before its read too; whoever reads first is then left before his write with p: lost.
TEST(RandomTest, LosesAnUpdateBetweenSyncPointsWithTheProbabilityDerived) {
  for (const int parameter : {51, 128}) {
    const double p = parameter / 256.0;
    const double lost = p * (1 - p) * (1 - p) + p * p;
    const Plan plan = RandomPlan(Granularity::kSync, static_cast<std::uint8_t>(parameter));
    EXPECT_NEAR(Share(Sample(model::Steps(2, 2), plan, kRuns), LostUpdate), lost, FiveSigma(lost, kRuns)) << parameter;
  }
}

TEST(RandomTest, ParameterZeroMeansOneSwitchInFive) {
  const auto by_default = Sample(model::Operations(3, 3), RandomPlan(Granularity::kOp, 0), 1000);
  EXPECT_EQ(by_default, Sample(model::Operations(3, 3), RandomPlan(Granularity::kOp, 51), 1000));
}

TEST(RandomTest, SwitchesToEveryOtherThreadAlike) {
  RandomWalk walk;
  walk.Begin(7, 255);
  int chosen[4] = {};
  for (int i = 0; i < kRuns; ++i) {
    const Decision d{.kind = PointKind::kAccess, .current = 1, .can_continue = true, .ready = 0b1111};
    ++chosen[walk.Choose(d)];
  }
  EXPECT_EQ(chosen[1], 0);
  for (const int other : {0, 2, 3}) EXPECT_NEAR(chosen[other], kRuns / 3.0, kRuns * FiveSigma(1.0 / 3, kRuns)) << other;
}

TEST(RandomTest, EndsATimedWaitInOneOf64Switches) {
  RandomWalk walk;
  walk.Begin(7, 0);
  int timed = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Decision d{.kind = PointKind::kWait, .current = 0, .ready = 0b0010, .timed = 0b0101};
    timed += walk.Choose(d) != 1 ? 1 : 0;
  }
  EXPECT_NEAR(timed, kRuns / 64.0, kRuns * FiveSigma(1.0 / 64, kRuns));
}

// Octaves are drawn uniformly among 16 - floor(log2 parameter).
TEST(RandomTest, DrawsDistancesLogUniformlyUpToTheBoundOfTheParameter) {
  const struct {
    std::uint8_t parameter;
    int octaves;
  } cases[] = {{1, 16}, {2, 15}, {51, 11}, {255, 9}};
  for (const auto& c : cases) {
    RandomWalk walk;
    walk.Begin(7, c.parameter);
    int in_octave[64] = {};
    for (int i = 0; i < kRuns; ++i) {
      const std::int64_t distance = walk.NextAccess();
      ASSERT_GE(distance, 1);
      ++in_octave[63 - __builtin_clzll(static_cast<std::uint64_t>(distance))];
    }
    for (int octave = 0; octave < 64; ++octave) {
      const double p = octave < c.octaves ? 1.0 / c.octaves : 0;
      EXPECT_NEAR(in_octave[octave], kRuns * p, kRuns * FiveSigma(p, kRuns)) << int{c.parameter} << " " << octave;
    }
  }
}

TEST(RandomTest, ReachesEveryInterleavingOfAccesses) {
  model::Program program = model::Steps(2, 3);
  for (auto& thread : program.threads) {
    for (auto& event : thread.front()) event.kind = model::EventKind::kAccess;
  }
  // A strict alternation needs five distances of one access, each with a probability of 1/9: some ten of 800,000 runs.
  EXPECT_EQ(Sample(program, RandomPlan(Granularity::kAccess, 255), 800'000).size(), 20U);  // 6! / (3! 3!)
}

}  // namespace
}  // namespace handoff::schedule
