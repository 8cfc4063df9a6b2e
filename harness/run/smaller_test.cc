#include "harness/run/smaller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace handoff {
namespace {

Operation Op(std::uint8_t code) { return {.code = code, .arguments = {}}; }

// A runs operations 1 and 2, B 3; A gives way to B inside operation 1.
Case TwoThreads() {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads = {{Op(1), Op(2)}, {Op(3)}};
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 0, .sync = 5, .access = 40}}};
  return c;
}

bool Contains(const std::vector<Case>& cases, const Case& c) { return std::ranges::find(cases, c) != cases.end(); }

TEST(SmallerTest, ThreadsWeighMoreThanOperationsAndThoseMoreThanSwitches) {
  const Case c = TwoThreads();
  Case operation = c;
  operation.threads[0].pop_back();
  Case thread = c;
  thread.threads = {{Op(1), Op(2), Op(3), Op(4)}};
  Case no_switch = c;
  no_switch.switches.clear();
  EXPECT_LT(SizeOf(thread), SizeOf(operation));
  EXPECT_LT(SizeOf(operation), SizeOf(no_switch));
  EXPECT_LT(SizeOf(no_switch), SizeOf(c));
}

TEST(SmallerTest, BytesOfASwitchCountLeast) {
  Case nearer = TwoThreads();
  nearer.switches[0].at.access = 39;
  EXPECT_LT(SizeOf(nearer), SizeOf(TwoThreads()));
  Case at_sync = nearer;
  at_sync.switches[0].at = {.operation = 0, .sync = 6};
  EXPECT_LT(SizeOf(at_sync), SizeOf(nearer)) << "without an access count it is easier to read";
  at_sync.threads[0][0].arguments[0] = 1;
  EXPECT_LT(SizeOf(at_sync), SizeOf(nearer)) << "and that counts for more than an argument";
}

TEST(SmallerTest, AProgramWithoutAnOperationKeepsTheSwitchAtTheBoundaryInOneVariant) {
  const std::vector<Case> programs = SmallerPrograms(TwoThreads());
  Case without = TwoThreads();
  without.threads[0] = {Op(2)};
  without.switches.clear();
  EXPECT_TRUE(Contains(programs, without));
  without.switches = {{.thread = 0, .to = 1, .at = {}}};
  EXPECT_TRUE(Contains(programs, without));
}

TEST(SmallerTest, ThreadsAreLeftOutAndPutTogetherInBothOrders) {
  const std::vector<Case> programs = SmallerPrograms(TwoThreads());
  for (const std::vector<Operation>& operations :
       {std::vector{Op(1), Op(2)}, std::vector{Op(3)}, std::vector{Op(1), Op(2), Op(3)}, std::vector{Op(3), Op(1), Op(2)}}) {
    const auto is_only = [&](const Case& c) { return c.threads.size() == 1 && c.threads[0] == operations; };
    EXPECT_TRUE(std::ranges::any_of(programs, is_only)) << operations.size();
  }
  for (const Case& c : programs) EXPECT_FALSE(c.threads.empty());
}

TEST(SmallerTest, EachPairOfOperationsIsLeftOutOnce) {
  Case c = TwoThreads();
  c.threads = {{Op(1), Op(2)}, {Op(3), Op(4)}};
  const std::vector<Case> pairs = WithoutPairs(c);
  EXPECT_EQ(pairs.size(), 6U);
  for (const Case& pair : pairs) {
    EXPECT_EQ(OperationCount(pair), 2U);
    EXPECT_EQ(std::ranges::count(pairs, pair.threads, &Case::threads), 1);
  }
  c.threads[0].resize(20);
  EXPECT_TRUE(WithoutPairs(c).empty());
}

TEST(SmallerTest, WithoutSwitchesEachThreadMayBeTheFirst) {
  const std::vector<Case> plain = WithoutSwitches(TwoThreads());
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_TRUE(plain[0].switches.empty());
  EXPECT_EQ(plain[1].switches, (std::vector<Switch>{{.thread = kGate, .to = 1}}));
}

TEST(SmallerTest, ASwitchLessIsTriedUnderOtherLetters) {
  Case c = TwoThreads();
  c.switches.insert(c.switches.begin(), {.thread = kGate, .to = 1});
  Case swapped = TwoThreads();
  std::swap(swapped.threads[0], swapped.threads[1]);
  swapped.switches = {{.thread = 1, .to = 0, .at = {.operation = 0, .sync = 5, .access = 40}}};
  EXPECT_TRUE(Contains(FewerSwitches(c), swapped));
}

TEST(SmallerTest, OperationsBeforeASwitchMoveToTheThreadThatGoesOn) {
  Case c = TwoThreads();
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 1}}, {.thread = 1, .to = 0, .at = {.operation = 0, .sync = 2}}};
  Case moved = TwoThreads();
  moved.threads = {{Op(1), Op(3)}, {Op(2)}};
  moved.switches = {{.thread = 0, .to = 1, .at = {.operation = 1, .sync = 2}}};
  EXPECT_TRUE(Contains(FewerSwitches(c), moved));
}

TEST(SmallerTest, SchedulesAreRoundedToACoarserGranularity) {
  const std::vector<Case> simpler = SimplerSchedules(TwoThreads());
  const auto has = [&](Granularity granularity, const Position& at) {
    Case c = TwoThreads();
    c.granularity = granularity;
    c.switches[0].at = at;
    return Contains(simpler, c);
  };
  EXPECT_TRUE(has(Granularity::kOp, {.operation = 0}));
  EXPECT_TRUE(has(Granularity::kOp, {.operation = 1}));
  EXPECT_TRUE(has(Granularity::kSync, {.operation = 0, .sync = 5}));
  EXPECT_TRUE(has(Granularity::kSync, {.operation = 0, .sync = 6}));
  EXPECT_TRUE(has(Granularity::kAccess, {.operation = 0, .sync = 5, .access = 20}));
  EXPECT_FALSE(has(Granularity::kAccess, {.operation = 0, .sync = 5, .access = 41}));
}

TEST(SmallerTest, ArgumentsGoToZeroFirstThenHalfTheWay) {
  Case c = TwoThreads();
  c.threads[1][0].arguments[2] = 8;
  const std::vector<Case> smaller = SmallerArguments(c);
  constexpr int kValues[] = {0, 4, 6, 7};
  ASSERT_EQ(smaller.size(), std::size(kValues));
  for (std::size_t i = 0; i < smaller.size(); ++i) EXPECT_EQ(smaller[i].threads[1][0].arguments[2], kValues[i]);
}

TEST(SmallerTest, EqualArgumentsAlsoGoDownTogether) {
  Case c = TwoThreads();
  c.threads[0][0].arguments[0] = c.threads[1][0].arguments[0] = 1;
  Case both = TwoThreads();
  EXPECT_TRUE(Contains(SmallerArguments(c), both));
  c.threads[1][0].arguments[0] = 2;
  EXPECT_FALSE(Contains(SmallerArguments(c), both)) << "they are not equal";
}

TEST(SmallerTest, NearbySchedulesMoveAnchorsALittle) {
  const std::vector<Case> nearby = NearbySchedules(TwoThreads());
  for (const Position& at :
       {Position{.operation = 0, .sync = 4, .access = 40}, Position{.operation = 0, .sync = 7, .access = 40},
        Position{.operation = 0, .sync = 5, .access = 46}, Position{.operation = 0, .sync = 5, .access = 34}}) {
    Case c = TwoThreads();
    c.switches[0].at = at;
    EXPECT_TRUE(Contains(nearby, c)) << at.sync << "+" << at.access;
  }
}

TEST(SmallerTest, OneSwitchGoesToThreadsThatStillHaveStepsToMake) {
  const std::vector<Place> places = {{.thread = 0, .at = {.operation = 0, .sync = 1}},
                                     {.thread = 1, .at = {.operation = 0, .sync = 1}},
                                     {.thread = 1, .at = {.operation = 1}}};
  const std::vector<Case> schedules = WithOneSwitch(WithoutSwitches(TwoThreads())[0], places, 10);
  ASSERT_EQ(schedules.size(), 1U) << "A has ended when B runs";
  EXPECT_EQ(schedules[0].switches, (std::vector<Switch>{{.thread = 0, .to = 1, .at = {.operation = 0, .sync = 1}}}));
}

TEST(SmallerTest, OfTooManyPlacesSomeAreTakenFromTheFirstToTheLast) {
  std::vector<Place> places(101);
  for (std::uint16_t sync = 0; sync < 100; ++sync) places[sync].at.sync = sync;
  places.back() = {.thread = 1, .at = {.operation = 1}};
  const std::vector<Case> schedules = WithOneSwitch(WithoutSwitches(TwoThreads())[0], places, 4);
  ASSERT_EQ(schedules.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(schedules[i].switches[0].at.sync, 25 * i);
}

TEST(SmallerTest, SingleSwitchesOfAVeryLongScheduleAreLeftAlone) {
  Case c = TwoThreads();
  c.switches.resize(kMaxSwitches, c.switches[0]);
  EXPECT_TRUE(FewerSwitches(c).empty());
  EXPECT_TRUE(NearbySchedules(c).empty());
  EXPECT_LT(SimplerSchedules(c).size(), 10U);
}

}  // namespace
}  // namespace handoff
