#include "harness/run/replay.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "harness/run/describe.h"

namespace handoff {
namespace {

constexpr std::array<OperationKind, 1> kOperations = {{{.name = "put"}}};
constexpr std::array<Twin, 1> kTwins = {{{"racy", "", ""}}};

Target Box() {
  Target target;
  target.name = "box";
  target.alphabet = {kOperations};
  target.twins = kTwins;
  return target;
}
CaseFile Read(const std::string& content) {
  const std::string path = ::testing::TempDir() + "replay-case";
  std::ofstream(path) << content;
  CaseFile file;
  EXPECT_TRUE(ReadCaseFile(Box().alphabet, path, file));
  return file;
}

TEST(ReplayTest, ACaseIsPrintedWithHowItRan) {
  const CaseFile file = Read("handoff case 1\nthreads 2\nA put\nB put\n");
  Options options;
  options.twin = 0;
  options.carrier = schedule::Carrier::kThread;
  const std::string text = PrintWithOrigin(Box(), options, file.c);
  const std::string sanitizer = SanitizerName() == "none" ? "" : "# sanitizer: " + std::string(SanitizerName()) + "\n";
  EXPECT_EQ(text.find("handoff case 1\n# target: box\n# twin: racy\n" + sanitizer + "# carrier: thread\nstrategy "), 0U) << text;
  EXPECT_EQ(Read(text).c, file.c);
}

TEST(ReplayTest, WhatACaseSaysOfItsRunAndIsOtherwiseIsSaid) {
  const std::string here(SanitizerName());
  const std::string other = here == "thread" ? "address" : "thread";
  Options safe;
  Options racy;
  racy.twin = 0;
  const CaseFile same = Read("handoff case 1\n# target: box\n# twin: racy\n# sanitizer: " + here + "\nthreads 1\nA put\n");
  EXPECT_TRUE(OtherWays(same, Box(), racy, "case").empty());
  const std::vector<std::string> notes = OtherWays(same, Box(), safe, "case");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "case: written for twin racy, and this is the safe one (HANDOFF_TWIN=racy runs that).");
  const CaseFile all = Read("handoff case 1\n# target: bag\n# twin: leaky\n# sanitizer: " + other + "\nthreads 1\nA put\n");
  EXPECT_EQ(OtherWays(all, Box(), racy, "case"),
            (std::vector<std::string>{"case: written for target bag, and this is box.",
                                      "case: written for twin leaky, and this is racy (HANDOFF_TWIN=leaky runs that).",
                                      "case: written for sanitizer " + other + ", and this is a build with " + here + "."}));
  EXPECT_TRUE(OtherWays(Read("handoff case 1\n# a twin: of mine\nthreads 1\nA put\n"), Box(), racy, "case").empty());
}

TEST(ReplayTest, SwitchesThatTheRunDidNotTakeAreNamedByTheirLines) {
  const CaseFile file =
      Read("handoff case 1\n# why\nstrategy listed\nthreads 2\nA put\nB put\nstart B\nswitch B 0.1 to A\nswitch A 7.1 to B\n");
  ASSERT_EQ(file.c.switches.size(), 3U);
  Outcome outcome;
  outcome.switches = {file.c.switches[0], file.c.switches[1]};
  const std::vector<std::string> notes = UntakenSwitches(file, outcome, "case");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].find("case: the switch on line 9 was never reached"), 0U) << notes[0];
  outcome.switches_lost = true;
  EXPECT_TRUE(UntakenSwitches(file, outcome, "case").empty()) << "what the run took is not known";
}

TEST(ReplayTest, RunsAreCountedAndHashed) {
  Outcome clean;
  clean.end = EndKind::kClean;
  clean.hash = 1;
  Outcome failed;
  failed.end = EndKind::kFinding;
  failed.kind = "deadlock";
  failed.hash = 0xabc;
  ReplaySummary summary;
  ReplayedFile& file = summary.files.emplace_back();
  file.path = "a";
  Add(clean, file);
  Add(failed, file);
  file.signature = "deadlock--mutex";
  EXPECT_EQ(ToJson(summary),
            "{\"files\": [{\"path\": \"a\", \"runs\": 2, \"failed\": 1, \"kind\": \"deadlock\", \"signature\": "
            "\"deadlock--mutex\", \"hashes\": [\"0000000000000001\", \"0000000000000abc\"]}]}");
}

}  // namespace
}  // namespace handoff
