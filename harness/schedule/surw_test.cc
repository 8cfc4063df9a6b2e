#include <gtest/gtest.h>

#include "harness/schedule/event_model.h"

namespace handoff::schedule {
namespace {

using model::ChiSquareBound;
using model::EventKind;
using model::Sample;

constexpr int kRuns = 20'000;

Plan SurwPlan(Granularity granularity) {
  Plan plan;
  plan.strategy = handoff::Strategy::kSurw;
  plan.granularity = granularity;
  return plan;
}

// Claims that all `kinds` orders of the program come out, and equally often.
void ExpectUniform(const model::Tally& tally, int kinds) {
  EXPECT_EQ(tally.size(), static_cast<std::size_t>(kinds));
  EXPECT_LT(model::ChiSquare(tally, kinds, kRuns), ChiSquareBound(kinds));
}

TEST(SurwTest, InterleavesOperationsUniformly) {
  ExpectUniform(Sample(model::Operations(2, 2), SurwPlan(Granularity::kOp), kRuns), 6);
  ExpectUniform(Sample(model::Operations(2, 3), SurwPlan(Granularity::kOp), kRuns), 20);
  ExpectUniform(Sample(model::Operations(3, 2), SurwPlan(Granularity::kOp), kRuns), 90);
}

TEST(SurwTest, InterleavesSharedStepsUniformly) {
  ExpectUniform(Sample(model::Steps(2, 2), SurwPlan(Granularity::kSync), kRuns), 6);
  ExpectUniform(Sample(model::Steps(2, 3), SurwPlan(Granularity::kSync), kRuns), 20);
}

TEST(SurwTest, StaysUniformWithUnequalThreads) {
  model::Program program = model::Steps(2, 2);
  program.threads[1] = model::Operations(1, 4).threads[0];
  ExpectUniform(Sample(program, SurwPlan(Granularity::kSync), kRuns), 15);  // 6! / (2! 4!)
  ExpectUniform(Sample(program, SurwPlan(Granularity::kAccess), kRuns), 15);
}

// The selective part: A's private steps (object 9, written a) must not change how its shared ones interleave with B's.
TEST(SurwTest, PrivateStepsDoNotDisturbTheOrderOfSharedOnes) {
  model::Program program = model::Steps(2, 2);
  model::Events& events = program.threads[0].front();
  for (int i = 0; i < 8; ++i) events.insert(events.begin() + 1, {EventKind::kStep, 9});
  model::Tally shared;
  for (const auto& [order, count] : Sample(program, SurwPlan(Granularity::kSync), kRuns)) {
    std::string kept;
    int a = 0;
    for (const char name : order) {
      if (name == 'A' && a++ % 9 != 0) continue;  // A's first and tenth step are shared
      kept += name;
    }
    shared[kept] += count;
  }
  ExpectUniform(shared, 6);
}

TEST(SurwTest, WithoutAProfileEveryOrderIsStillReached) {
  Plan plan = SurwPlan(Granularity::kSync);
  model::Tally tally;
  for (plan.seed = 0; plan.seed < 5000; ++plan.seed) ++tally[Execute(model::Steps(2, 3), plan).order];
  EXPECT_EQ(tally.size(), 20U);
}

// A starts its only step and must wait; B goes on to its second and last point. Each has one step left: 1/2.
TEST(SurwTest, AStepThatHadToWaitIsStillToCome) {
  Plan plan = SurwPlan(Granularity::kOp);
  plan.threads = 2;
  plan.profile.steps_of[1] = 1;
  int to_a = 0;
  for (plan.seed = 0; plan.seed < kRuns; ++plan.seed) {
    Strategy& strategy = SurwStrategy();
    strategy.Begin(plan);
    ASSERT_EQ(strategy.Choose({.kind = PointKind::kGate, .ready = 0b01}), 0);
    ASSERT_EQ(strategy.Choose({.kind = PointKind::kWait, .current = 0, .ready = 0b10}), 1);
    to_a += strategy.Choose({.kind = PointKind::kOp, .current = 1, .can_continue = true, .ready = 0b11}) == 0 ? 1 : 0;
  }
  EXPECT_NEAR(to_a, kRuns / 2.0, kRuns * model::FiveSigma(0.5, kRuns));
}

TEST(SurwTest, BlockedThreadsDoNotHoldUpTheOthers) {
  model::Program program;
  const model::Events critical = {{EventKind::kLock, 1}, {EventKind::kStep, 2}, {EventKind::kUnlock, 1}};
  program.threads = {{critical, critical}, {critical, critical}, {critical}};
  for (const auto& [order, count] : Sample(program, SurwPlan(Granularity::kSync), 2000)) {
    EXPECT_EQ(order.size(), 15U) << order;
    for (std::size_t i = 0; i < order.size(); i += 3) EXPECT_TRUE(order[i] == order[i + 1] && order[i] == order[i + 2]) << order;
  }
}

}  // namespace
}  // namespace handoff::schedule
