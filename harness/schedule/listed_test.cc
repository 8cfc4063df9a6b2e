#include <gtest/gtest.h>

#include "harness/schedule/event_model.h"
#include "harness/schedule/random.h"

namespace handoff::schedule {
namespace {

using model::EventKind;

constexpr handoff::Strategy kDeciding[] = {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPct,
                                           handoff::Strategy::kPos, handoff::Strategy::kSurw};
constexpr Granularity kFineness[] = {Granularity::kOp, Granularity::kSync, Granularity::kAccess};

model::Outcome Replay(const model::Program& program, Granularity granularity, const std::vector<Switch>& switches) {
  Plan plan;
  plan.strategy = handoff::Strategy::kListed;
  plan.granularity = granularity;
  plan.switches = switches.data();
  plan.switch_count = switches.size();
  return Execute(program, plan);
}

Switch At(int thread, int operation, int sync, int access, int to) {
  return {static_cast<std::uint8_t>(thread), static_cast<std::uint8_t>(to),
          Position{static_cast<std::uint16_t>(operation), static_cast<std::uint16_t>(sync), static_cast<std::uint32_t>(access)}};
}

TEST(ListedTest, ReplaysWhatAnyStrategyDid) {
  int deadlocks = 0;
  int timeouts = 0;
  int finished = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const model::Program program = model::RandomProgram(seed);
    std::vector<std::uint8_t> bytes;
    Random random{seed};
    for (int i = 0; i < 20; ++i) bytes.push_back(static_cast<std::uint8_t>(Next(random)));
    for (const auto strategy : kDeciding) {
      for (const auto granularity : kFineness) {
        Plan plan{.strategy = strategy, .granularity = granularity, .parameter = static_cast<std::uint8_t>(seed), .seed = seed};
        plan.bytes = bytes.data();
        plan.byte_count = bytes.size();
        plan.profile = model::Pilot(program, granularity);
        const auto run = Execute(program, plan);
        const auto replay = Replay(program, granularity, run.switches);
        ASSERT_EQ(run.error, "");
        ASSERT_EQ(replay.order, run.order) << seed << " " << kStrategyNames[static_cast<std::size_t>(strategy)];
        ASSERT_EQ(replay.switches, run.switches) << seed;
        ASSERT_EQ(replay.deadlock, run.deadlock) << seed;
        ASSERT_EQ(Execute(program, plan).order, run.order) << "not a function of plan and decisions";
        (run.deadlock ? deadlocks : finished) += 1;
        timeouts += run.order.find_first_of("abcd") != std::string::npos ? 1 : 0;
      }
    }
  }
  // The programs exercise all of it.
  EXPECT_GT(deadlocks, 1000);
  EXPECT_GT(finished, 1000);
  EXPECT_GT(timeouts, 1000);
}

TEST(ListedTest, WithoutSwitchesGivesTheDefault) {
  EXPECT_EQ(Replay(model::Steps(3, 2), Granularity::kSync, {}).order, "AABBCC");
}

TEST(ListedTest, SwitchesExactlyWhereItSays) {
  EXPECT_EQ(Replay(model::Steps(2, 3), Granularity::kSync, {At(0, 0, 2, 0, 1), At(1, 0, 3, 0, 0)}).order, "ABBAAB");
  EXPECT_EQ(Replay(model::Operations(2, 2), Granularity::kOp, {At(kGate, 0, 0, 0, 1), At(1, 1, 0, 0, 0)}).order, "BAAB");
}

TEST(ListedTest, DropsSwitchesWhoseThreadHasGonePast) {
  // A has no fourth step, has passed its first when B ends, and is past the gate: all three are skipped.
  const std::vector<Switch> switches = {At(0, 0, 2, 0, 1), At(0, 0, 1, 0, 1), At(kGate, 0, 0, 0, 1), At(1, 0, 2, 0, 0)};
  EXPECT_EQ(Replay(model::Steps(2, 2), Granularity::kSync, switches).order, "ABAB");
}

TEST(ListedTest, DropsSwitchesToThreadsThatCannotRun) {
  // C does not exist, 200 cannot exist; the next switch at the same place still applies.
  const std::vector<Switch> switches = {At(0, 0, 2, 0, 2), At(0, 0, 2, 0, 200), At(0, 0, 2, 0, 1)};
  EXPECT_EQ(Replay(model::Steps(2, 2), Granularity::kSync, switches).order, "ABBA");
}

TEST(ListedTest, DropsSwitchesOfAThreadThatHasEnded) {
  const std::vector<Switch> switches = {At(0, 7, 0, 0, 1), At(1, 0, 2, 0, 2)};
  EXPECT_EQ(Replay(model::Steps(3, 2), Granularity::kSync, switches).order, "AABCCB");
}

TEST(ListedTest, CountsDownToAnAccess) {
  const model::Events events = {{EventKind::kAccess, 1}, {EventKind::kAccess, 1}, {EventKind::kStep, 1}, {EventKind::kAccess, 1}};
  const model::Program program{{{events}, {events}}};
  // Before A's second access, then before B's access behind its sync point.
  const std::vector<Switch> switches = {At(0, 0, 0, 2, 1), At(1, 0, 1, 1, 0)};
  EXPECT_EQ(Replay(program, Granularity::kAccess, switches).order, "ABBBAAAB");
}

TEST(ListedTest, SurvivesSwitchesThatMakeNoSense) {
  Random random{1};
  for (int i = 0; i < 3000; ++i) {
    std::vector<Switch> switches;
    for (int n = 0; n < 8; ++n) {
      const auto small = [&random](std::uint64_t bound) { return static_cast<int>(Below(random, bound)); };
      const int thread = small(8) == 0 ? small(256) : small(4);
      switches.push_back(At(thread, small(3), small(6), small(4), small(8) == 0 ? small(256) : small(4)));
    }
    const auto outcome = Replay(model::RandomProgram(static_cast<std::uint64_t>(i)), kFineness[i % 3], switches);
    ASSERT_EQ(outcome.error, "") << i;
    // What took effect is a schedule in its own right.
    const auto again = Replay(model::RandomProgram(static_cast<std::uint64_t>(i)), kFineness[i % 3], outcome.switches);
    ASSERT_EQ(again.order, outcome.order) << i;
  }
}

}  // namespace
}  // namespace handoff::schedule
