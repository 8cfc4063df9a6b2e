#include "harness/schedule/strategy.h"

#include <gtest/gtest.h>

#include <string>

#include <vector>

#include "harness/schedule/random.h"

namespace handoff::schedule {
namespace {

constexpr handoff::Strategy kAll[] = {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPct,
                                      handoff::Strategy::kPos,   handoff::Strategy::kSurw,   handoff::Strategy::kListed};

// A decision that some program could lead to; positions grow, so that none comes twice.
Decision AnyDecision(Random& random, std::uint64_t step, const std::uint32_t* pending) {
  Decision d;
  d.kind = step == 0 ? PointKind::kGate : static_cast<PointKind>(1 + Below(random, 7));
  d.current = step == 0 ? -1 : static_cast<int>(Below(random, kMaxControlled));
  d.ready = static_cast<ThreadSet>(Next(random) & Next(random) & 0xffff);
  d.timed = static_cast<ThreadSet>(Next(random) & Next(random) & 0xffff) & ~d.ready;
  const bool stays = d.kind != PointKind::kGate && d.kind != PointKind::kWait && d.kind != PointKind::kEnd;
  if (stays) d.ready |= Only(d.current);
  if (!stays && d.current >= 0) d.ready &= ~Only(d.current);
  if (d.kind != PointKind::kWait && d.current >= 0) d.timed &= ~Only(d.current);
  if ((d.ready | d.timed) == 0) d.ready = Only(d.current == 0 ? 1 : 0);
  d.can_continue = stays;
  d.at.operation = static_cast<std::uint16_t>(step);
  d.step = step;
  d.pending = pending;
  return d;
}

TEST(StrategyTest, AlwaysChoosesAThreadThatCanRunAndADistanceOfAtLeastOne) {
  for (const auto which : kAll) {
    Strategy& strategy = GetStrategy(which);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Random random{seed};
      std::uint8_t bytes[100];
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(Next(random));
      std::uint32_t pending[kMaxControlled];
      for (auto& object : pending) object = static_cast<std::uint32_t>(Below(random, 4));
      Plan plan{.strategy = which, .parameter = bytes[0], .threads = 4, .seed = seed, .bytes = bytes, .byte_count = 100};
      plan.profile.steps = Below(random, 300);
      plan.profile.steps_of[1] = 50;
      plan.profile.shared_of[2] = Below(random, 3);
      strategy.Begin(plan);
      for (int t = 4; t < kMaxControlled; ++t) strategy.Created(t);
      for (std::uint64_t step = 0; step < 200; ++step) {
        const Decision d = AnyDecision(random, step, pending);
        const int choice = strategy.Choose(d);
        ASSERT_TRUE(choice >= 0 && choice < kMaxControlled && Has(d.ready | d.timed, choice)) << static_cast<int>(which);
        ASSERT_GE(strategy.NextAccess(choice, d.at, step), 1) << static_cast<int>(which);
      }
    }
  }
}

TEST(StrategyTest, TheSamePlanGivesTheSameChoicesWhateverRanBefore) {
  for (const auto which : kAll) {
    Strategy& strategy = GetStrategy(which);
    const std::uint32_t pending[kMaxControlled] = {};
    const auto choices = [&] {
      Plan plan{.strategy = which, .threads = kMaxControlled, .seed = 5};
      plan.profile.steps = 100;
      strategy.Begin(plan);
      Random random{3};
      std::vector<std::int64_t> result;
      for (std::uint64_t step = 0; step < 100; ++step) {
        const Decision d = AnyDecision(random, step, pending);
        result.push_back(strategy.Choose(d));
        result.push_back(strategy.NextAccess(static_cast<int>(result.back()), d.at, step));
      }
      return result;
    };
    const auto first = choices();
    EXPECT_EQ(first, choices()) << static_cast<int>(which);
  }
}

TEST(StrategyTest, PriorityStrategiesChooseTimedWaitsLast) {
  for (const auto which : {handoff::Strategy::kPct, handoff::Strategy::kPos, handoff::Strategy::kSurw}) {
    Strategy& strategy = GetStrategy(which);
    const Plan plan{.strategy = which, .threads = 4};
    strategy.Begin(plan);
    const std::uint32_t pending[kMaxControlled] = {};
    Decision d{.kind = PointKind::kWait, .current = 0, .ready = 0b0010, .timed = 0b1101, .pending = pending};
    for (int i = 0; i < 500; ++i) ASSERT_EQ(strategy.Choose(d), 1);
    d.ready = 0;
    EXPECT_TRUE(Has(d.timed, strategy.Choose(d)));
  }
}

// Two threads yield to each other until a third, in a timed wait, goes on. Without a time-out now and then this never ends.
TEST(StrategyTest, TimePassesForThreadsThatYieldToEachOther) {
  for (const auto which : {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPct,
                           handoff::Strategy::kPos, handoff::Strategy::kSurw}) {
    Strategy& strategy = GetStrategy(which);
    const Plan plan{.strategy = which, .threads = 3};
    strategy.Begin(plan);
    const std::uint32_t pending[kMaxControlled] = {};
    int current = 0;
    int yields = 0;
    for (; current != 2 && yields < 20'000; ++yields) {
      current = strategy.Choose({.kind = PointKind::kYield,
                                 .current = current,
                                 .can_continue = true,
                                 .ready = 0b011,
                                 .timed = 0b100,
                                 .at = {},
                                 .step = 0,
                                 .pending = pending});
    }
    // One in 64 each time: more than 2000 in a row have a probability of 2e-14.
    EXPECT_LT(yields, 2000) << static_cast<int>(which);
  }
}

TEST(DefaultChoiceTest, GoesOnElseTakesTheFirstThatCan) {
  EXPECT_EQ(DefaultChoice({.kind = PointKind::kSync, .current = 2, .can_continue = true, .ready = 0b111}), 2);
  EXPECT_EQ(DefaultChoice({.kind = PointKind::kWait, .current = 0, .ready = 0b110}), 1);
  EXPECT_EQ(DefaultChoice({.kind = PointKind::kEnd, .current = 0, .ready = 0, .timed = 0b110}), 1);
  EXPECT_EQ(DefaultChoice({.kind = PointKind::kGate, .ready = 0b111}), 0);
}

TEST(DefaultChoiceTest, AYieldGoesToAnotherThreadThenToATimedWaitThenBack) {
  Decision d{.kind = PointKind::kYield, .current = 0, .can_continue = true, .ready = 0b101, .timed = 0b010};
  EXPECT_EQ(DefaultChoice(d), 2);
  d.ready = 0b001;
  EXPECT_EQ(DefaultChoice(d), 1);
  d.timed = 0;
  EXPECT_EQ(DefaultChoice(d), 0);
}

TEST(DefaultChoiceTest, ThreadsThatYieldTakeTurns) {
  Decision d{.kind = PointKind::kYield, .current = 0, .can_continue = true, .ready = 0b1011};
  std::string turns;
  for (int i = 0; i < 6; ++i) turns += std::to_string(d.current = DefaultChoice(d));
  EXPECT_EQ(turns, "130130");
  d.kind = PointKind::kSpin;
  EXPECT_EQ(DefaultChoice(d), 1) << "one that spins, too";
}

TEST(StrategyTest, OnlyPctAndSurwNeedAProfile) {
  for (const auto which : kAll) {
    EXPECT_EQ(NeedsProfile(which), which == handoff::Strategy::kPct || which == handoff::Strategy::kSurw);
  }
}

}  // namespace
}  // namespace handoff::schedule
