#include <gtest/gtest.h>

#include "harness/schedule/event_model.h"

namespace handoff::schedule {
namespace {

using model::FiveSigma;
using model::LostUpdate;
using model::Sample;
using model::Share;

constexpr int kRuns = 20'000;

Plan PctPlan(int depth, Granularity granularity = Granularity::kOp) {
  Plan plan;
  plan.strategy = handoff::Strategy::kPct;
  plan.granularity = granularity;
  plan.parameter = static_cast<std::uint8_t>(depth);
  return plan;
}

// Two threads of two operations: k = 2 points, one in each thread, and the thread that starts passes its own at step 1. The
// update is lost if and only if a change point lies there: 1 - 2^-(d - 1). The guarantee is 1/(n k^(d-1)) with d = 2: 1/4.
TEST(PctTest, LosesAnUpdateIfAChangePointLiesBetweenReadAndWrite) {
  EXPECT_EQ(Share(Sample(model::Operations(2, 2), PctPlan(1), kRuns), LostUpdate), 0);
  EXPECT_NEAR(Share(Sample(model::Operations(2, 2), PctPlan(2), kRuns), LostUpdate), 0.5, FiveSigma(0.5, kRuns));
  EXPECT_NEAR(Share(Sample(model::Operations(2, 2), PctPlan(3), kRuns), LostUpdate), 0.75, FiveSigma(0.75, kRuns));
}

// Depth 2: exactly one place in A, of 8 points. A must be higher (1/2) and the change point there (1/8): the guarantee itself.
TEST(PctTest, MeetsItsGuaranteeExactlyForOneOrderingConstraintMore) {
  const double p = 1.0 / (2 * 8);
  const auto tally = Sample(model::Operations(2, 5), PctPlan(2), kRuns);
  EXPECT_NEAR(Share(tally, [](const std::string& order) { return order == "AAABBBBBAA"; }), p, FiveSigma(p, kRuns));
}

// Depth 3: A, then B, then A, then B needs A to be higher (1/2), change points at step 1 and 2, and the one at step 1 to give the
// higher of the two low priorities (1/4): 1/8, again the guarantee 1/(n k^(d-1)).
TEST(PctTest, LowPrioritiesComeInRandomOrder) {
  const double p = 1.0 / (2 * 2 * 2);
  const auto tally = Sample(model::Operations(2, 2), PctPlan(3), kRuns);
  EXPECT_NEAR(Share(tally, [](const std::string& order) { return order == "ABAB"; }), p, FiveSigma(p, kRuns));
}

TEST(PctTest, MeetsItsGuaranteeWithThreeThreads) {
  // n = 3, k = 6, d = 2: any order in which C acts between the first two operations of A, which needs one constraint more than
  // "A first". Only a lower bound: other priorities and change points give such orders too.
  const double guarantee = 1.0 / (3 * 6);
  const auto tally = Sample(model::Operations(3, 3), PctPlan(2), kRuns);
  const double share = Share(tally, [](const std::string& order) {
    const std::size_t first = order.find('A');
    return first < order.find('C') && order.find('C') < order.find('A', first + 1);
  });
  EXPECT_GE(share, guarantee - FiveSigma(guarantee, kRuns));
}

// Every order of the threads, each equally likely: depth 1 is nothing but random distinct priorities.
TEST(PctTest, DepthOneRunsThreadsOneAfterAnotherInEveryOrder) {
  const auto tally = Sample(model::Operations(3, 2), PctPlan(1), kRuns);
  EXPECT_EQ(tally.size(), 6U);
  EXPECT_LT(model::ChiSquare(tally, 6, kRuns), model::ChiSquareBound(6));
}

TEST(PctTest, ParameterZeroAndEightMeanDepthThree) {
  const auto three = Sample(model::Operations(3, 3), PctPlan(3), 1000);
  EXPECT_EQ(Sample(model::Operations(3, 3), PctPlan(0), 1000), three);
  EXPECT_EQ(Sample(model::Operations(3, 3), PctPlan(8), 1000), three);
}

// A thread's access n is at step n, and the change point is one of 1 to 8 (two threads of four accesses): if A starts, it makes
// 0, 1, 2 or 3 accesses before B with 1/8 each, else all of them.
TEST(PctTest, CountsDownToTheChangePointInAccesses) {
  model::Program program = model::Steps(2, 4);
  for (auto& thread : program.threads) {
    for (auto& event : thread.front()) event.kind = model::EventKind::kAccess;
  }
  const auto tally = Sample(program, PctPlan(2, Granularity::kAccess), kRuns);
  for (const char* order : {"ABBBBAAA", "AABBBBAA", "AAABBBBA", "BAAAABBB", "BBAAAABB", "BBBAAAAB"}) {
    ASSERT_TRUE(tally.contains(order)) << order;
    EXPECT_NEAR(tally.at(order), kRuns / 16.0, kRuns * FiveSigma(1.0 / 16, kRuns)) << order;
  }
}

TEST(PctTest, CreatedThreadsGetRandomPrioritiesToo) {
  model::Program program = model::Operations(2, 2);
  program.created = 1;
  program.threads[0][0][0] = {model::EventKind::kCreate, 1};
  const auto tally = Sample(program, PctPlan(1), kRuns);
  // A's last operation comes before both of B's, or after them, by who is higher.
  EXPECT_EQ(tally.size(), 2U);
  EXPECT_NEAR(tally.at("ABBA"), kRuns / 2.0, kRuns * FiveSigma(0.5, kRuns));
}

TEST(PctTest, YieldingPutsAThreadBelowEverybody) {
  model::Program program = model::Operations(3, 2);
  program.threads[0] = {{{model::EventKind::kYield, 0}, {model::EventKind::kStep, 1}}};
  for (const auto& [order, count] : Sample(program, PctPlan(1), 200)) EXPECT_EQ(order.back(), 'A') << order;
}

}  // namespace
}  // namespace handoff::schedule
