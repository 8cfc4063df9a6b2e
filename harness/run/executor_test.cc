#include "harness/run/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "harness/run/subject_for_test.h"
#include "harness/schedule/point.h"

namespace handoff {
namespace {

using Calls = std::vector<std::string>;

// One executor for the process: its carriers stay.
struct Fixture {
  CallingSubject subject;
  Executor executor{subject, schedule::Carrier::kFiber};
};
Fixture& Shared() {
  static auto& fixture = *new Fixture;
  fixture.subject.Forget();
  fixture.subject.on_apply = [](int, const Operation&) {};
  return fixture;
}

Calls WithoutStarts(const Calls& calls) {
  Calls others;
  for (const std::string& call : calls) {
    if (!call.starts_with("start")) others.push_back(call);
  }
  return others;
}

// Under ThreadSanitizer this is a race if a carrier that has nothing to do in the first execution is ordered
// behind nothing. The first test: carriers are made once.
TEST(ExecutorTest, WhatACarrierMadeAtItsStartIsThereForTheDriver) {
  Fixture& f = Shared();
  Case c = SmallCase();
  c.threads.resize(kMaxThreads);
  f.executor.Execute(c);
  for (const bool started : f.subject.started) EXPECT_TRUE(started);
}

TEST(ExecutorTest, OneExecutionGoesFromBeginToEnd) {
  Fixture& f = Shared();
  f.executor.Execute(SmallCase());
  EXPECT_EQ(WithoutStarts(f.subject.Calls()), (Calls{"begin", "apply 0.0", "apply 0.1", "apply 1.2", "end"}));
}

TEST(ExecutorTest, CarriersAreStartedOnce) {
  Fixture& f = Shared();
  f.executor.Execute(SmallCase());
  f.subject.Forget();
  f.executor.Execute(SmallCase());
  EXPECT_EQ(f.subject.Calls(), WithoutStarts(f.subject.Calls()));
}

TEST(ExecutorTest, ListedSwitchesAreFollowed) {
  Fixture& f = Shared();
  Case c = SmallCase();
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 1}}};
  f.executor.Execute(c);
  EXPECT_EQ(WithoutStarts(f.subject.Calls()), (Calls{"begin", "apply 0.0", "apply 1.2", "apply 0.1", "end"}));
}

TEST(ExecutorTest, ThreadsFinishWhenTheSubjectAsksForIt) {
  Fixture& f = Shared();
  f.subject.needs_finish = ~ThreadBits{0};
  f.executor.Execute(SmallCase());
  EXPECT_EQ(WithoutStarts(f.subject.Calls()),
            (Calls{"begin", "apply 0.0", "apply 0.1", "apply 1.2", "finish 0", "finish 1", "end"}));
}

TEST(ExecutorTest, OnlyThreadsThatTheSubjectNamesFinish) {
  Fixture& f = Shared();
  f.subject.needs_finish = 0b10;
  f.executor.Execute(SmallCase());
  EXPECT_EQ(WithoutStarts(f.subject.Calls()), (Calls{"begin", "apply 0.0", "apply 0.1", "apply 1.2", "finish 1", "end"}));
}

TEST(ExecutorTest, AStrategyThatNeedsAProfileRunsAPilotFirst) {
  Fixture& f = Shared();
  f.executor.Execute(SmallCase(Strategy::kPct));
  EXPECT_EQ(WithoutStarts(f.subject.Calls()).size(), 10U) << "two executions of five calls";
  f.subject.Forget();
  const schedule::Profile profile = f.executor.ExecutePilot(SmallCase(Strategy::kPct)).profile;
  f.subject.Forget();
  f.executor.Execute(SmallCase(Strategy::kPct), &profile);
  EXPECT_EQ(WithoutStarts(f.subject.Calls()).size(), 5U) << "given the profile, one";
}

TEST(ExecutorTest, EqualCasesRunEqually) {
  Fixture& f = Shared();
  f.subject.on_apply = [](int, const Operation&) { HANDOFF_SYNC_POINT(nullptr, "step"); };
  for (const Strategy strategy : {Strategy::kBytes, Strategy::kRandom, Strategy::kPct, Strategy::kPos, Strategy::kSurw}) {
    Case c = SmallCase(strategy, Granularity::kSync);
    c.bytes = {7, 1, 200, 3};
    const std::uint64_t hash = f.executor.Execute(c).hash;
    EXPECT_TRUE(f.executor.Repeats(c, hash)) << kStrategyNames[static_cast<std::size_t>(strategy)];
  }
}

TEST(ExecutorTest, ADifferenceThatGoesOnIsNoticed) {
  Fixture& f = Shared();
  std::atomic<int> steps = 0;
  f.subject.on_apply = [&steps](int, const Operation&) {
    for (int i = 0; i <= steps.load(); ++i) HANDOFF_SYNC_POINT(nullptr, "step");
    ++steps;
  };
  Case c = SmallCase(Strategy::kRandom, Granularity::kSync);
  c.parameter = 128;
  const std::uint64_t hash = f.executor.Execute(c).hash;
  EXPECT_FALSE(f.executor.Repeats(c, hash));
}

TEST(ExecutorTest, ADifferenceAfterTheFirstExecutionOnlyIsNone) {
  Fixture& f = Shared();
  std::atomic<bool> first = true;
  f.subject.on_apply = [&first](int, const Operation&) {
    if (first) HANDOFF_SYNC_POINT(nullptr, "fill a cache");
    first = false;
  };
  Case c = SmallCase(Strategy::kListed, Granularity::kSync);
  c.switches = {{.thread = 0, .to = 1, .at = {.operation = 0, .sync = 1}}};
  const std::uint64_t hash = f.executor.Execute(c).hash;
  EXPECT_TRUE(f.executor.Repeats(c, hash));
}

TEST(ExecutorTest, NoCaseIsFinerThanThisBuild) {
  const Case c = SmallCase(Strategy::kListed, Granularity::kAccess);
  EXPECT_EQ(EffectiveGranularity(c), schedule::FinestGranularity());
}

}  // namespace
}  // namespace handoff
