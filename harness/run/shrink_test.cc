#include "harness/run/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/case/binary.h"

namespace handoff {
namespace {

using Predicate = std::function<bool(const Case&)>;

Operation Op(std::uint8_t code) { return {.code = code, .arguments = {}}; }

// Four threads of four operations, with a switch in each operation.
Case Large() {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads.resize(4);
  for (std::uint8_t thread = 0; thread < 4; ++thread) {
    for (std::uint8_t i = 0; i < 4; ++i) {
      c.threads[thread].push_back(Op(static_cast<std::uint8_t>(thread * 4 + i)));
      c.switches.push_back(
          {.thread = thread, .to = static_cast<std::uint8_t>((thread + 1) % 4), .at = {.operation = i, .sync = 1}});
    }
  }
  return c;
}

// A runs operation 1, B operation 2.
Case Small() {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads = {{Op(1)}, {Op(2)}};
  return c;
}

bool HasOperation(const Case& c, std::uint8_t code) {
  return std::ranges::any_of(c.threads, [code](const auto& operations) {
    return std::ranges::any_of(operations, [code](const Operation& o) { return o.code == code; });
  });
}

constexpr auto kNever = [] { return false; };

// A run that takes all of its switches.
RunTrial Judged(Predicate fails) {
  return [fails = std::move(fails)](const Case& c) { return Trial{.fails = fails(c), .switches = c.switches}; };
}

// All that comes out.
std::vector<Case> Smaller(const Case& c, const RunTrial& run, const IsOver& is_over = kNever) {
  std::vector<Case> smaller;
  Shrink(c, run, is_over, [&smaller](const Case& found) { smaller.push_back(found); });
  return smaller;
}

// The last of it, or the case itself.
Case Smallest(const Case& c, const RunTrial& run) {
  const std::vector<Case> smaller = Smaller(c, run);
  return smaller.empty() ? c : smaller.back();
}

TEST(ShrinkTest, OnlyWhatTheFailureNeedsIsLeft) {
  // A switch inside operation 6, with operation 9 on another thread.
  const auto fails = [](const Case& c) {
    const auto inside = [&c](const Switch& s) {
      if (s.thread >= c.threads.size()) return false;  // the gate's
      return s.at.operation < c.threads[s.thread].size() && c.threads[s.thread][s.at.operation].code == 6;
    };
    return HasOperation(c, 9) && std::ranges::any_of(c.switches, inside);
  };
  ASSERT_TRUE(fails(Large()));
  const Case small = Smallest(Large(), Judged(fails));
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.threads.size(), 2U);
  EXPECT_EQ(OperationCount(small), 2U);
  ASSERT_EQ(small.switches.size(), 1U);
  EXPECT_EQ(small.switches[0].at.operation, 0U) << "operations before it were left out, and it was renumbered";
}

TEST(ShrinkTest, WhatNeedsEverythingStaysAsItIs) {
  EXPECT_TRUE(Smaller(Large(), Judged([](const Case& c) { return c == Large(); })).empty());
}

TEST(ShrinkTest, WhatFailsAnywayBecomesOneEmptyThread) {
  const Case small = Smallest(Large(), Judged([](const Case&) { return true; }));
  EXPECT_EQ(small.threads.size(), 1U);
  EXPECT_EQ(OperationCount(small), 0U);
  EXPECT_TRUE(small.switches.empty());
}

TEST(ShrinkTest, WhenTheTimeIsOverItReturnsWhatItHas) {
  int left = 3;
  const auto run = Judged([&left](const Case&) { return left-- > 0; });
  const std::vector<Case> smaller = Smaller(Large(), run, [&left] { return left <= 0; });
  ASSERT_EQ(smaller.size(), 2U) << "the first run is of the case itself";
  EXPECT_EQ(smaller.back().threads.size(), 1U) << "two threads at once, then one";
  EXPECT_EQ(OperationCount(smaller.back()), 4U);
}

TEST(ShrinkTest, SwitchesThatWereNotTakenGoAtOnce) {
  Case c = Large();
  const auto run = [](const Case& tried) {
    Trial trial{.fails = OperationCount(tried) == 16 && tried.threads.size() == 4, .switches = tried.switches};
    std::erase_if(trial.switches, [](const Switch& s) { return s.thread != 2; });
    return trial;
  };
  const std::vector<Case> smaller = Smaller(c, run);
  ASSERT_FALSE(smaller.empty());
  EXPECT_EQ(smaller.front().threads, c.threads);
  EXPECT_EQ(smaller.front().switches.size(), 4U);
}

TEST(ShrinkTest, ThreadsThatNeedNotBeApartBecomeOne) {
  const auto fails = [](const Case& c) {
    const auto together = [](const auto& operations) {
      return std::ranges::find(operations, Op(0)) != operations.end() && std::ranges::find(operations, Op(4)) != operations.end();
    };
    return HasOperation(c, 0) && HasOperation(c, 4) && HasOperation(c, 8) && HasOperation(c, 12) &&
           std::ranges::none_of(c.threads, together);
  };
  const Case small = Smallest(Large(), Judged(fails));
  EXPECT_EQ(small.threads.size(), 2U);
  EXPECT_EQ(OperationCount(small), 4U);
}

TEST(ShrinkTest, OperationsThatOnlyMakeSenseTogetherGoTogether) {
  Case c = Small();
  c.threads[0] = {Op(7), Op(1), Op(8)};
  const auto fails = [](const Case& tried) {
    return HasOperation(tried, 7) == HasOperation(tried, 8) && HasOperation(tried, 1) && HasOperation(tried, 2);
  };
  EXPECT_EQ(OperationCount(Smallest(c, Judged(fails))), 2U);
}

TEST(ShrinkTest, ArgumentsBecomeAsSmallAsTheFailureAllows) {
  Case c = Small();
  c.threads[0][0].arguments = {200, 3, 0, 255};
  const auto fails = [](const Case& tried) {
    return tried.threads.size() == 2 && OperationCount(tried) == 2 && tried.threads[0][0].arguments[0] >= 5;
  };
  EXPECT_EQ(Smallest(c, Judged(fails)).threads[0][0].arguments, (decltype(Operation::arguments){5, 0, 0, 0}));
}

TEST(ShrinkTest, ArgumentsThatHaveToStayEqualGoDownTogether) {
  Case c = Small();
  c.threads[0][0].arguments = {6, 6};  // the second one is another thing, which must be 6
  c.threads[1][0].arguments = {6, 0};
  c.threads[1].push_back({.code = 3, .arguments = {6, 0}});
  const auto fails = [](const Case& tried) {
    if (tried.threads.size() != 2 || OperationCount(tried) != 3) return false;
    const auto& a = tried.threads[0][0].arguments;
    return a[1] == 6 && a[0] == tried.threads[1][0].arguments[0] && a[0] == tried.threads[1][1].arguments[0];
  };
  ASSERT_TRUE(fails(c));
  const Case small = Smallest(c, Judged(fails));
  EXPECT_EQ(small.threads[0][0].arguments[0], 0);
  EXPECT_EQ(small.threads[1][1].arguments[0], 0);
}

TEST(ShrinkTest, TheGranularityIsAsCoarseAsTheFailureAllows) {
  const auto fails_at = [](Granularity least) {
    return Judged([least](const Case& c) { return c.granularity >= least && c.threads == Small().threads; });
  };
  EXPECT_EQ(Smallest(Small(), fails_at(Granularity::kOp)).granularity, Granularity::kOp);
  EXPECT_EQ(Smallest(Small(), fails_at(Granularity::kSync)).granularity, Granularity::kSync);
  EXPECT_EQ(Smallest(Small(), fails_at(Granularity::kAccess)).granularity, Granularity::kAccess);
}

TEST(ShrinkTest, SwitchesMoveToPlacesThatAreEasierToRead) {
  Case c = Small();
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 0, .sync = 9, .access = 1000}}};
  // Anywhere behind sync point 3, if it is 3 or more accesses behind a sync point.
  const auto run = Judged([](const Case& tried) {
    return tried.threads == Small().threads && tried.switches.size() == 1 && tried.switches[0].at.operation == 0 &&
           tried.switches[0].at.sync >= 3 && tried.switches[0].at.access >= 3;
  });
  EXPECT_EQ(Smallest(c, run).switches[0].at, (Position{.operation = 0, .sync = 3, .access = 3}));
  const auto behind = Judged([](const Case& tried) {
    return tried.threads == Small().threads && tried.switches.size() == 1 && tried.switches[0].at.sync >= 10;
  });
  EXPECT_EQ(Smallest(c, behind).switches[0].at, (Position{.operation = 0, .sync = 10}));
}

TEST(ShrinkTest, TheThreadThatStartsIsTheFirst) {
  Case c = Small();
  c.switches = {{.thread = kGate, .to = 1}};
  const auto fails = [](const Case& tried) {
    const std::size_t first = tried.switches.empty() ? 0 : tried.switches[0].to;
    return tried.threads.size() == 2 && tried.threads[first] == std::vector{Op(2)} && HasOperation(tried, 1);
  };
  const Case small = Smallest(c, Judged(fails));
  EXPECT_TRUE(small.switches.empty());
  EXPECT_EQ(small.threads, (std::vector<std::vector<Operation>>{{Op(2)}, {Op(1)}}));
}

// Operation 5 makes operation 1 behind it longer by three sync points.
std::uint16_t Critical(const Case& c) { return HasOperation(c, 5) ? 7 : 4; }

Trial RunWithMovedAnchors(const Case& c) {
  Trial trial{.switches = c.switches};
  if (!HasOperation(c, 1) || !HasOperation(c, 2) || c.threads.size() != 2 || c.granularity == Granularity::kOp) return trial;
  const bool first = c.threads[0].front().code == 5;
  for (std::uint16_t sync = 1; sync < 10; ++sync) {
    trial.places.push_back({.thread = 0, .at = {.operation = static_cast<std::uint16_t>(first ? 1 : 0), .sync = sync}});
  }
  trial.places.push_back({.thread = 1, .at = {.operation = 1}});
  trial.fails = std::ranges::any_of(c.switches, [&c](const Switch& s) {
    return s.thread == 0 && s.to == 1 && s.at.operation < c.threads[0].size() && c.threads[0][s.at.operation].code == 1 &&
           s.at.sync == Critical(c);
  });
  return trial;
}

TEST(ShrinkTest, AnotherScheduleIsLookedForWhenAnchorsMove) {
  Case c = Small();
  c.threads[0] = {Op(5), Op(1)};
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 1, .sync = 7}}};
  ASSERT_TRUE(RunWithMovedAnchors(c).fails);
  const Case small = Smallest(c, RunWithMovedAnchors);
  EXPECT_EQ(small.threads, Small().threads);
  ASSERT_EQ(small.switches.size(), 1U);
  EXPECT_EQ(small.switches[0].at, (Position{.operation = 0, .sync = 4}));
}

TEST(ShrinkTest, OperationsThatChangeThreadsMayNeedTheirSwitchElsewhere) {
  Case c = Small();
  c.granularity = Granularity::kSync;
  c.threads = {{Op(1), Op(2)}, {Op(3)}};
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 1}}, {.thread = 1, .to = 0, .at = {.operation = 0, .sync = 20}}};
  const std::vector<std::vector<Operation>> moved = {{Op(1), Op(3)}, {Op(2)}};
  const std::vector<Switch> elsewhere = {{.thread = 0, .to = 1, .at = {.operation = 1, .sync = 9}}};
  const auto run = [&](const Case& tried) {
    Trial trial{.fails = tried == c || (tried.threads == moved && tried.switches == elsewhere), .switches = tried.switches};
    if (tried.threads == moved) trial.places = {{.thread = 0, .at = elsewhere[0].at}, {.thread = 1, .at = {.operation = 1}}};
    return trial;
  };
  const Case small = Smallest(c, run);
  EXPECT_EQ(small.threads, moved);
  EXPECT_EQ(small.switches, elsewhere);
}

TEST(ShrinkTest, ASmallerProgramMayFailByChanceOnly) {
  Case c = Small();
  c.threads[0] = {Op(5), Op(1)};
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 1, .sync = 7}}};
  // Without operation 5 it takes two switches, which nobody lists before a run has found them.
  const std::vector<Switch> two = {{.thread = 0, .to = 1, .at = {.operation = 0, .sync = 40}},
                                   {.thread = 1, .to = 0, .at = {.operation = 0, .sync = 30}}};
  const auto run = [&](const Case& tried) {
    const bool found = tried.threads == Small().threads && (tried.strategy == Strategy::kPct || tried.switches == two);
    return Trial{.fails = tried == c || found, .switches = found ? two : tried.switches};
  };
  const Case small = Smallest(c, run);
  EXPECT_EQ(small.threads, Small().threads);
  EXPECT_EQ(small.switches, two);
  EXPECT_EQ(small.strategy, Strategy::kListed);
  EXPECT_TRUE(small.bytes.empty());
  EXPECT_EQ(small.parameter, 0);
}

TEST(ShrinkTest, NothingIsRunTwiceAndTheResultIsTheSameAgain) {
  std::multiset<std::vector<std::uint8_t>> runs;
  const auto run = [&runs](const Case& c) {
    runs.insert(EncodeCase(c));
    return RunWithMovedAnchors(c);
  };
  Case c = Small();
  c.threads[0] = {Op(5), Op(6), Op(1)};
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 2, .sync = 7}}};
  const std::vector<Case> smaller = Smaller(c, run);
  const std::set<std::vector<std::uint8_t>> different(runs.begin(), runs.end());
  EXPECT_EQ(different.size(), runs.size());
  EXPECT_EQ(Smaller(c, RunWithMovedAnchors), smaller);
}

TEST(ShrinkTest, EachCaseIsSmallerThanTheOneBefore) {
  const auto run = Judged([](const Case& c) { return HasOperation(c, 6); });
  std::vector<Case> smaller = Smaller(Large(), run);
  smaller.insert(smaller.begin(), Large());
  for (std::size_t i = 1; i < smaller.size(); ++i) EXPECT_LT(SizeOf(smaller[i]), SizeOf(smaller[i - 1]));
  EXPECT_GT(smaller.size(), 3U);
}

}  // namespace
}  // namespace handoff
