#include "harness/report/trace_reader.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/report/test_finding.h"

namespace handoff {
namespace {

TEST(TraceReader, WhoNoticedGoesBeforeTheTrace) {
  Finding finding = RaceFinding();
  finding.thread = 0;
  EXPECT_EQ(FailingThread(finding), 0);
  finding.thread = -1;
  EXPECT_EQ(FailingThread(finding), 1) << "the last switch gave the baton to B";
}

TEST(TraceReader, BetweenAndBehindOperationsThereIsNone) {
  Finding finding = RaceFinding();
  EXPECT_EQ(FailingOperation(finding), std::optional(Operation{.code = 1, .arguments = {2}}));
  finding.trace.push_back(End(1, 0));
  EXPECT_EQ(FailingOperation(finding), std::nullopt);
  finding.trace.push_back(Begin(1, 1));
  finding.at = {.operation = 1};
  EXPECT_EQ(FailingOperation(finding), std::optional(Operation{.code = 2}));
  finding.trace.push_back(Exit(1, 2));
  EXPECT_EQ(FailingOperation(finding), std::nullopt);
}

TEST(TraceReader, AWaitThatEndedIsNotWaitedFor) {
  Finding finding = DeadlockFinding();
  EXPECT_EQ(WaitedFor(finding), std::vector<std::string>{"mutex"});
  finding.detail.clear();
  finding.trace.push_back({.kind = StepKind::kTimeout, .thread = 2, .at = {.sync = 1}});
  EXPECT_EQ(WaitedFor(finding), std::vector<std::string>{"mutex"});
}

TEST(TraceReader, TheOtherThreadIsTheOnlyOneOrTheOneTheReportSays) {
  Finding finding = RaceFinding();
  EXPECT_EQ(OtherThread(finding), 0);
  finding.trace.insert(finding.trace.begin(), Begin(2, 0));
  EXPECT_EQ(OtherThread(finding), 0) << "T1 was created right before T2, so A is meant";
  finding.sites[1].reported = 3;
  EXPECT_EQ(OtherThread(finding), 2);
  finding.sites[1].reported = 9;
  EXPECT_EQ(OtherThread(finding), -1) << "there is no such thread";
  EXPECT_EQ(OtherThread(LeakFinding()), -1);
  finding = RaceFinding();
  finding.sites[1].reported = 0;
  EXPECT_EQ(OtherThread(finding), -1) << "the main thread, before or after the program's";
}

TEST(TraceReader, BehindTheEndOfAllThreadsNobodyFailed) {
  Finding finding = RaceFinding();
  finding.thread = -1;
  finding.trace.push_back(Exit(0, 2));
  finding.trace.push_back(Exit(1, 2));
  EXPECT_EQ(FailingThread(finding), -1);
  EXPECT_EQ(OtherThread(finding), -1);
}

TEST(TraceReader, AnEmptyFindingHasNothingToTell) {
  const Finding finding;
  EXPECT_EQ(FailingThread(finding), -1);
  EXPECT_EQ(FailingOperation(finding), std::nullopt);
  EXPECT_TRUE(WaitedFor(finding).empty());
}

}  // namespace
}  // namespace handoff
