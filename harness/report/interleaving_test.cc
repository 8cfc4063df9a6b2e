#include "harness/report/interleaving.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness/report/test_finding.h"
#include "harness/testing/golden.h"

namespace handoff {
namespace {

TEST(Interleaving, EveryKindOfStepHasItsRow) {
  Finding finding = RaceFinding();
  finding.kind = "abort";
  finding.sites.clear();
  finding.report.clear();
  const Position at = {.operation = 0, .sync = 3, .access = 1};
  finding.trace = {Begin(0, 0),
                   AtPoint(0, {.operation = 0, .sync = 1}, "thread start", 0),
                   {.kind = StepKind::kCreate, .thread = 0, .to = 2, .at = {.sync = 1}},
                   SwitchTo(0, PointKind::kYield, {.operation = 0, .sync = 2}, 2),
                   Begin(2, 0),
                   Wait(2, {.sync = 1}, "sleep", 0),
                   SwitchTo(2, PointKind::kWait, {.sync = 1}, 0),
                   AtPoint(0, {.operation = 0, .sync = 3}, "lock", 4),
                   SwitchTo(0, PointKind::kAccess, at, 1),
                   Begin(1, 0),
                   Wait(1, {.sync = 1}, "condition variable", 4),
                   SwitchTo(1, PointKind::kWait, {.sync = 1}, 0),
                   SwitchTo(0, PointKind::kSpin, {.operation = 0, .sync = 3, .access = 100'001}, 2),
                   {.kind = StepKind::kTimeout, .thread = 2, .at = {.sync = 1}},
                   Wait(2, {.sync = 2}, "ever", 0),
                   End(0, 0),
                   {.kind = StepKind::kTimeout, .thread = 1, .at = {.sync = 1}},
                   Exit(0, 1),
                   SwitchTo(0, PointKind::kEnd, {.operation = 1}, 1),
                   AtPoint(1, {.operation = 0, .sync = 2}, "deleter call", 5)};
  finding.places.assign(finding.trace.size(), "");
  finding.places[8] = "lock.cc:7";
  finding.places[10] = "queue.cc:12";
  ExpectGolden(Interleaving(finding, kAlphabet), "golden/steps.txt");
}

// Of a deadlock: who has called for the waiters, and whether anybody heard it.
TEST(Interleaving, ALostWakeUpHasItsRow) {
  Finding finding = RaceFinding();
  finding.kind = "deadlock";
  finding.trace = {Begin(0, 0),
                   AtPoint(0, {.sync = 1}, "pthread_cond_signal", 3),
                   AtPoint(0, {.sync = 2}, "pthread_cond_broadcast", 4),
                   SwitchTo(0, PointKind::kSync, {.sync = 2}, 1),
                   Begin(1, 0),
                   Wait(1, {.sync = 1}, "condition variable", 3),
                   SwitchTo(1, PointKind::kWait, {.sync = 1}, 0),
                   AtPoint(0, {.sync = 3}, "pthread_cond_broadcast", 3),
                   End(0, 0),
                   SwitchTo(0, PointKind::kOp, {.operation = 1}, 1),
                   Wait(1, {.sync = 2}, "condition variable", 3),
                   SwitchTo(1, PointKind::kWait, {.sync = 2}, 0),
                   Exit(0, 1)};
  finding.places.assign(finding.trace.size(), "");
  finding.places[1] = "queue.cc:40";
  ExpectGolden(Interleaving(finding, kAlphabet), "golden/lost_wakeup.txt");
}

TEST(Interleaving, ALongTraceKeepsItsEndsAndItsMarks) {
  Finding finding = RaceFinding();
  finding.trace.clear();
  finding.recorded.threads = {{}, {}};
  for (std::uint16_t i = 0; i < 200; ++i) {
    const std::uint8_t thread = i < 100 ? 0 : 1;
    finding.recorded.threads[thread].push_back({.code = 1, .arguments = {static_cast<std::uint8_t>(i % 4)}});
    finding.trace.push_back(Begin(thread, static_cast<std::uint16_t>(i % 100)));
  }
  finding.at = {.operation = 99};
  const std::string text = Interleaving(finding, kAlphabet);
  EXPECT_NE(text.find("... 79 rows left out ..."), std::string::npos) << text;
  EXPECT_NE(text.find("... 61 rows left out ..."), std::string::npos) << "A's last step is marked, so it is shown\n" << text;
  EXPECT_NE(text.find("\n> consume slot=3\n"), std::string::npos) << text;
}

TEST(Interleaving, RoundsOfALoopAreCounted) {
  Finding finding = RaceFinding();
  finding.kind = "livelock";
  finding.sites.clear();
  finding.trace = {Begin(0, 0), AtPoint(0, {.sync = 1}, "lock", 1)};
  for (std::uint16_t i = 0; i < 50; ++i) {
    const Position at = {.sync = static_cast<std::uint16_t>(i + 2)};
    finding.trace.push_back(AtPoint(0, at, "try lock", i));
    finding.trace.push_back(SwitchTo(0, PointKind::kSync, at, 1));
    finding.trace.push_back(SwitchTo(1, PointKind::kYield, at, 0));
  }
  finding.steps_lost = 7;
  const std::string text = Interleaving(finding, kAlphabet);
  ExpectGolden(text, "golden/rounds.txt");
  EXPECT_EQ(text.find("not kept"), std::string::npos) << "the trace is shorter than what is kept in any case";
}

TEST(Interleaving, WhatWasNotKeptIsMissingInTheMiddle) {
  Finding finding = RaceFinding();
  finding.trace.clear();
  finding.recorded.threads = {{}, {}};
  for (std::uint16_t i = 0; i < schedule::kFirstSteps + 10; ++i) {
    finding.recorded.threads[0].push_back({.code = static_cast<std::uint8_t>(i % 3), .arguments = {}});
    finding.trace.push_back(Begin(0, i));
  }
  finding.steps_lost = 7;
  finding.at = {.operation = 3};
  const std::string text = Interleaving(finding, kAlphabet);
  EXPECT_NE(text.find("... 7 steps were not kept ..."), std::string::npos) << text;
}

TEST(Interleaving, AThirdThreadIsToldApartByTheReportsNumbers) {
  Finding finding = RaceFinding();
  finding.recorded.threads.push_back({{.code = 2}});
  finding.trace.insert(finding.trace.begin(), Begin(2, 0));
  EXPECT_NE(Interleaving(finding, kAlphabet).find("step of thread A"), std::string::npos)
      << "T1 is one before T2, so A one before B";
  finding.sites[1].reported = -1;
  EXPECT_NE(Interleaving(finding, kAlphabet).find("marks the failing step."), std::string::npos) << "it could be A or C";
}

TEST(Interleaving, CodesOutsideTheAlphabetAreNoReasonToFail) {
  Finding finding = RaceFinding();
  finding.recorded.threads[0][0].code = 200;
  EXPECT_NE(Interleaving(finding, kAlphabet).find("\n  begins\n"), std::string::npos);
}

}  // namespace
}  // namespace handoff
