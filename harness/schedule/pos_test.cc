#include <gtest/gtest.h>

#include "harness/schedule/event_model.h"

namespace handoff::schedule {
namespace {

using model::FiveSigma;
using model::LostUpdate;
using model::Sample;
using model::Share;

constexpr int kRuns = 20'000;

Plan PosPlan(Granularity granularity) {
  Plan plan;
  plan.strategy = handoff::Strategy::kPos;
  plan.granularity = granularity;
  return plan;
}

// No objects are known between operations, so nothing is drawn again for races (BasicPOS). The loser of the first comparison
// keeps the lower of two numbers; the update is lost if the winner's next number is lower still: the lowest of three, 1/3.
TEST(PosTest, WithoutObjectsLosesAnUpdateOneTimeInThree) {
  const auto tally = Sample(model::Operations(2, 2), PosPlan(Granularity::kOp), kRuns);
  EXPECT_NEAR(Share(tally, LostUpdate), 1.0 / 3, FiveSigma(1.0 / 3, kRuns));
}

// The first thread, X, comes to its read and draws u; Y, which has not begun, keeps v, the lower of two (density 2 (1 - v)).
// - u > v, probability 1 - v: X reads and draws u' for its write; nothing races, as Y's next step is not known yet. Lost if
//   u' < v and Y, then before its read with a new number w, goes on with w > u': the integral of 1 - u' from 0 to v, v - v^2/2.
// - u < v, probability v: Y comes to its read too. Whoever reads first, both draw again, as they race: lost with 1/2.
// Together, 2 times the integral of (1 - v) ((1 - v) (v - v^2/2) + v/2) from 0 to 1, which is 2/15 + 1/6 = 0.3.
TEST(PosTest, DrawsAgainForRacingStepsWithTheProbabilityDerived) {
  const auto tally = Sample(model::Steps(2, 2), PosPlan(Granularity::kSync), kRuns);
  EXPECT_NEAR(Share(tally, LostUpdate), 0.3, FiveSigma(0.3, kRuns));
}

TEST(PosTest, ReachesEveryInterleaving) {
  EXPECT_EQ(Sample(model::Steps(2, 3), PosPlan(Granularity::kSync), kRuns).size(), 20U);     // 6! / (3! 3!)
  EXPECT_EQ(Sample(model::Operations(3, 2), PosPlan(Granularity::kOp), kRuns).size(), 90U);  // 6! / (2! 2! 2!)
}

// B's one step races with the last of A's ten; a fair walk delays B so long about once in 2^10 runs. A's numbers are a0 (to its
// first point) to a10 (the racing step), all fresh; B comes to its step when a number a_j of A falls below b0, and takes it when
// one from a_j on falls below b1. With S(n) the sum of 1/((j+1)(j+2)) for j below n, which is n/(n+1):
// - B last: b0 is below all eleven, 1/12, or b1 is, from some a_j on: the integral of (1 - b1)^12 times S(11), 1/13 * 11/12.
// - B right before the racing step: a10 is the first below b0, and below b1 too: the integral of (1 - b0)^10 (b0 - b0^2/2),
//   1/143; or an earlier a_j, and then a10 is the first below b1: the integral of b1 (1 - b1)^11 times S(10), 1/156 * 10/11.
TEST(PosTest, PrivateStepsDoNotHideARaceAtTheEnd) {
  model::Program program = model::Steps(2, 1);
  model::Events& events = program.threads[0].front();
  for (int i = 0; i < 9; ++i) events.insert(events.begin(), {model::EventKind::kStep, 10});
  const auto tally = Sample(program, PosPlan(Granularity::kSync), kRuns);
  const double last = Share(tally, [](const std::string& order) { return order == "AAAAAAAAAAB"; });
  const double right_before = Share(tally, [](const std::string& order) { return order == "AAAAAAAAABA"; });
  EXPECT_NEAR(last, 2.0 / 13, FiveSigma(2.0 / 13, kRuns));
  EXPECT_NEAR(right_before, 1.0 / 78, FiveSigma(1.0 / 78, kRuns));
}

TEST(PosTest, YieldingPutsAThreadBelowEverybodyUntilItGoesOn) {
  model::Program program = model::Operations(3, 1);
  program.threads[0] = {{{model::EventKind::kYield, 0}, {model::EventKind::kStep, 1}}};
  for (const auto& [order, count] : Sample(program, PosPlan(Granularity::kOp), 200)) EXPECT_EQ(order.back(), 'A') << order;
}

}  // namespace
}  // namespace handoff::schedule
