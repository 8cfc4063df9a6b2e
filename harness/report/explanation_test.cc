#include "harness/report/explanation.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/interleaving.h"
#include "harness/report/test_finding.h"
#include "harness/testing/golden.h"

namespace handoff {
namespace {

constexpr ExplanationTexts kTexts = {.why = "",
                                     .explain = "scripts/handoff explain crash-1",
                                     .replay = "scripts/handoff replay crash-1 --twin unlocked_rename",
                                     .test = "scripts/handoff explain --text crash-1 > case.txt\n  scripts/handoff test"};

void ExpectNarrow(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    EXPECT_LE(line.size(), kReportWidth) << line;
    text.remove_prefix(line.size() + 1);
  }
}

TEST(Explanation, ARaceShowsBothAccesses) {
  ExplanationTexts texts = kTexts;
  texts.why = "The case passes when B does not stop before capsule call #2.";
  ExpectGolden(Explain(RaceFinding(), kAlphabet, texts), "golden/race.txt");
}

TEST(Explanation, ADeadlockMarksTheWaits) { ExpectGolden(Explain(DeadlockFinding(), kAlphabet, kTexts), "golden/deadlock.txt"); }

TEST(Explanation, ADeadlockWithStacksSaysWhereEachWaits) {
  ExpectGolden(Explain(DeadlockWithStacks(), kAlphabet, kTexts), "golden/deadlock_stacks.txt");
}

TEST(Explanation, ALeakIsFoundAtTheEnd) { ExpectGolden(Explain(LeakFinding(), kAlphabet, kTexts), "golden/leak.txt"); }

TEST(Explanation, OnlyOfATargetWithTwinsTheSafeOneIsNamed) {
  Finding finding = LeakFinding();
  EXPECT_NE(Explain(finding, kAlphabet, kTexts).find("\n  twin:     none: this is the safe one\n"), std::string::npos);
  finding.has_twins = false;
  EXPECT_EQ(Explain(finding, kAlphabet, kTexts).find("twin:"), std::string::npos);
}

TEST(Explanation, ThreadsOfTheReportAreTranslatedAsFarAsTheyAreKnown) {
  Finding finding = RaceFinding();
  EXPECT_NE(Explain(finding, kAlphabet, kTexts).find("\nREPORT\n  T2 is B, T1 is A.\n"), std::string::npos);
  finding.sites[1].reported = 0;
  std::string text = Explain(finding, kAlphabet, kTexts);
  EXPECT_NE(text.find("\nREPORT\n  T2 is B.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("write by B in "), std::string::npos) << text;
  EXPECT_NE(text.find("read in "), std::string::npos) << text;
  finding.sites[0].reported = 0;
  text = Explain(finding, kAlphabet, kTexts);
  EXPECT_NE(text.find("\nREPORT\n  All threads of the program are T0 here, fibers of one thread.\n"), std::string::npos) << text;
  finding.sites.clear();
  text = Explain(finding, kAlphabet, kTexts);
  EXPECT_NE(text.find("\nREPORT\nWARNING"), std::string::npos) << text;
}

TEST(Explanation, AReplayNamesTheCommandThatLooksForTheSwitch) {
  const std::string text = Explain(LeakFinding(), kAlphabet, kTexts);
  EXPECT_NE(text.find("\nWHY\n  Not looked for here."), std::string::npos);
  EXPECT_NE(text.find(":\n  scripts/handoff explain crash-1\n\nREPORT\n"), std::string::npos) << text;
}

TEST(Explanation, ALookThatWasCutShortNamesItToo) {
  ExplanationTexts texts = kTexts;
  texts.why = "Not known: this was interrupted.";
  texts.cut_short = true;
  const std::string text = Explain(LeakFinding(), kAlphabet, texts);
  EXPECT_NE(
      text.find("\nWHY\n  Not known: this was interrupted.\n  This looks again:\n  scripts/handoff explain crash-1\n\nREPORT\n"),
      std::string::npos)
      << text;
}

TEST(Explanation, HeadingsComeInTheirOrder) {
  const std::string text = "\n" + Explain(LeakFinding(), kAlphabet, kTexts);
  std::size_t at = 0;
  for (const char* heading : {"\nFINDING\n", "\nINTERLEAVING\n", "\nWHY\n", "\nREPORT\n", "\nREPLAY\n", "\nTEST\n",
                              "\nDEDUP_TOKEN: missing-delete--R3--end\n"}) {
    const std::size_t next = text.find(heading, at);
    ASSERT_NE(next, std::string::npos) << heading;
    at = next;
  }
}

TEST(Explanation, TheSanitizersOwnTokenIsLeftOut) {
  const std::string text = Explain(RaceFinding(), kAlphabet, kTexts);
  EXPECT_EQ(text.find("not--ours"), std::string::npos);
  EXPECT_EQ(text.find("DEDUP_TOKEN: "), text.rfind("DEDUP_TOKEN: "));
}

TEST(Explanation, AStackThatIsTheHarnesssAltogetherGoesWithItsHeading) {
  Finding finding = RaceFinding();
  finding.sites[0].reported = finding.sites[1].reported = -1;
  finding.report =
      "WARNING: ThreadSanitizer: data race (pid=7)\n"
      "  Write of size 4 by thread T2:\n"
      "    #0 Put() a.cc:12:3 (target+0x12)\n"
      "\n"
      "  Thread T2 (tid=0, running) created by main thread at:\n"
      "    #0 handoff::schedule::NewFiber(int) fiber.cc:192:3 (target+0x5)\n"
      "    #1 _start (target+0x1)\n"
      "\n"
      "  As if synchronized via sleep:\n"
      "\n"
      "SUMMARY: ThreadSanitizer: data race a.cc:12:3 in Put()\n";
  const std::string text = Explain(finding, kAlphabet, kTexts);
  EXPECT_NE(text.find("REPORT\n"
                      "WARNING: ThreadSanitizer: data race (pid=7)\n"
                      "  Write of size 4 by thread T2:\n"
                      "    #0 Put() a.cc:12:3 (target+0x12)\n"
                      "\n"
                      "  As if synchronized via sleep:\n"
                      "\n"
                      "SUMMARY: "),
            std::string::npos)
      << text;
}

TEST(Explanation, FramesOfTheHarnessBelowAnOperationAreLeftOut) {
  Finding finding = RaceFinding();
  finding.report =
      "WARNING: ThreadSanitizer: data race (pid=7)\n"
      "    #0 Rename(char*) a.cc:12:3 (target+0x12) (BuildId: 00ff)\n"
      "    #1 handoff::Executor::ApplyOperation(void*, int, int) executor.cc:77:21 (target+0x4e)\n"
      "    #2 _start (target+0x1)\n"
      "\n"
      "  Location is heap block\n"
      "    #0 operator new(unsigned long) <null> (target+0x3)\n";
  const std::string text = Explain(finding, kAlphabet, kTexts);
  EXPECT_NE(text.find("#0 Rename(char*) a.cc:12:3 (target+0x12)\n"), std::string::npos);
  EXPECT_EQ(text.find("ApplyOperation"), std::string::npos);
  EXPECT_EQ(text.find("_start"), std::string::npos);
  EXPECT_NE(text.find("#0 operator new"), std::string::npos);
}

TEST(Explanation, LinesAreNarrowWhateverIsInThem) {
  Finding finding = RaceFinding();
  finding.detail = std::string(40, 'w') + " " + std::string(90, 'x') + " " + std::string(100, 'y');
  finding.sites[0].function = std::string(200, 'f');
  finding.recorded.threads.assign(16, {{.code = 0, .arguments = {3, 1}}});
  for (std::uint8_t t = 0; t < 16; ++t) finding.trace.push_back(Begin(t, 0));
  finding.thread = 15;
  ExpectNarrow(Interleaving(finding, kAlphabet));
  finding.sites.clear();
  finding.report.clear();
  ExpectNarrow(Explain(finding, kAlphabet, kTexts));
}

TEST(Explanation, ARunWithoutATraceSaysSo) {
  Finding finding = RaceFinding();
  finding.trace.clear();
  finding.recorded.threads.clear();
  EXPECT_NE(Explain(finding, kAlphabet, kTexts).find("INTERLEAVING\n  No trace"), std::string::npos);
}

}  // namespace
}  // namespace handoff
