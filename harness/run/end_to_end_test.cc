// Built targets end as they should, whatever is found and wherever: on a fiber, on a thread of the program, on a thread that it
// created, on the main thread. Each end is a non-empty file and an exit code, and the file fails again in a fresh process.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/run/ends.h"
#include "harness/run/target_process_for_test.h"

namespace handoff {
namespace {

// A arms, B fires.
std::string EndingCase(const std::string& place) {
  return "handoff case 1\nstrategy listed\ngranularity op\nthreads 2\nA arm\nB fire place=" + place + "\n";
}

// One canary, its broken twin, a case that brings it out, and the kinds that may come out.
struct Planted {
  std::string name;  // of the test
  std::string target;
  std::string twin;
  std::string carrier;
  std::string content;
  std::vector<std::string> kinds;
};
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

std::vector<Planted> EveryEndEverywhere() {
  std::vector<std::vector<std::string>> ends = {{"abort", "aborts", "abort"},
                                                {"segv", "writes_to_null", "segv"},
                                                {"exit", "exits", "exit"},
                                                {"stale_read", "reads_freed", "heap-use-after-free"},
                                                {"verdict", "judges", "wrong-value"},
                                                {"uncaught_exception", "throws", "abort"}};
  std::vector<Planted> all;
  ends.push_back({"segv", "overflows_stack", "segv"});
  for (const auto& end : ends) {
    for (const std::string carrier : {"fiber", "thread"}) {
      for (const std::string place : {"operation", "created", "finish", "end"}) {
        std::string name = end[1];
        name.append("_").append(place).append("_").append(carrier);
        all.push_back({name, "canary_" + end[0], end[1], carrier, EndingCase(place), {end[2]}});
      }
    }
  }
  for (const std::string carrier : {"fiber", "thread"}) {
    // In Finish and in End nobody schedules: there it is a time-out (EndlessTest).
    for (const std::string place : {"operation", "created"}) {
      const std::string where = std::string(place).append("_").append(carrier);
      all.push_back({"deadlock_" + where, "canary_endless_wait", "pauses", carrier, EndingCase(place), {"deadlock"}});
      all.push_back({"livelock_" + where, "canary_livelock", "yields", carrier, EndingCase(place), {"livelock"}});
    }
    if (HANDOFF_TSAN != 0) {
      all.push_back({"race_" + carrier,
                     "canary_data_race",
                     "unlocked",
                     carrier,
                     "handoff case 1\nstrategy listed\ngranularity op\nthreads 2\nA write\nB write\n",
                     {"data-race"}});
    }
    all.push_back({"use_after_free_" + carrier, "canary_use_after_free", "pointer_kept", carrier, "", {"heap-use-after-free"}});
  }
  return all;
}

Variables With(const std::string& twin, const std::string& carrier) {
  return {{"HANDOFF_TWIN", twin}, {"HANDOFF_CARRIER", carrier}};
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class PlantedTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedTest, EndsInAFileThatFailsAgain) {
  const Planted& planted = GetParam();
  // A corpus with the case in it, or, where nobody wrote one, a search.
  std::vector<std::string> arguments = {"-runs=100000", "-max_len=100"};
  if (!planted.content.empty()) arguments.push_back(FolderWithFile("case", planted.content));
  TargetProcess fuzz(planted.target, arguments, With(planted.twin, planted.carrier));
  const Ended found = fuzz.Wait();
  ASSERT_EQ(found.code, kExitFinding) << found.output;
  EXPECT_EQ(Count(found.output, "\nDEDUP_TOKEN: "), 1U) << found.output;
  const std::string signature = LineAfter(found.output, "DEDUP_TOKEN: ");
  bool expected = false;
  for (const std::string& kind : planted.kinds) expected = expected || signature.starts_with(kind);
  EXPECT_TRUE(expected) << signature;

  const std::string path = LineAfter(found.output, "Test unit written to ");
  ASSERT_EQ(fuzz.Files().size(), 1U) << found.output;
  ASSERT_EQ(path, fuzz.Folder() + fuzz.Files()[0]) << found.output;
  ASSERT_FALSE(ReadAll(path).empty());

  const std::string command = "\n  scripts/handoff replay " + path + " --target " + planted.target + " --sanitizer ";
  EXPECT_EQ(Count(found.output, command), 1U) << "complete: the file may lie anywhere\n" << found.output;

  const std::string json = FolderWithFile("unused", "") + "replay.json";
  Variables variables = With(planted.twin, planted.carrier);
  variables["HANDOFF_REPLAY_JSON"] = json;
  TargetProcess replay(planted.target, {path}, variables);
  const Ended again = replay.Wait();
  EXPECT_EQ(again.code, kExitFinding) << again.output;
  EXPECT_EQ(LineAfter(again.output, "DEDUP_TOKEN: "), signature);
  EXPECT_EQ(LineAfter(again.output, "  trace: "), LineAfter(found.output, "  trace: ")) << "the same run, not only the same end";
  EXPECT_NE(ReadAll(json).find("\"failed\": 1"), std::string::npos) << ReadAll(json);
  EXPECT_TRUE(replay.Files().empty()) << "a replay writes no file";
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PlantedTest, ::testing::ValuesIn(EveryEndEverywhere()),
                         [](const auto& planted) { return planted.param.name; });

// Where something never ends, and on which carrier.
using Endless = std::tuple<std::string, std::string>;

class EndlessTest : public ::testing::TestWithParam<Endless> {};

// Runs the twin of `target` that never ends, and returns what came of it.
void ExpectTimeout(const std::string& target, const std::string& twin, const std::string& function) {
  const auto& [place, carrier] = EndlessTest::GetParam();
  TargetProcess fuzz(target, {"-timeout=1", "-runs=0", FolderWithFile("case", EndingCase(place))}, With(twin, carrier));
  const Ended end = fuzz.Wait();
  EXPECT_EQ(end.code, kExitTimeout) << end.output;
  ASSERT_EQ(fuzz.Files().size(), 1U);
  EXPECT_TRUE(fuzz.Files()[0].starts_with("timeout-"));
  EXPECT_FALSE(ReadAll(fuzz.Folder() + fuzz.Files()[0]).empty());
  EXPECT_NE(end.output.find("fire place=" + place), std::string::npos) << "names the operation";
  EXPECT_NE(end.output.find(function), std::string::npos) << "shows the stack" << end.output;
}

TEST_P(EndlessTest, ASpinIsATimeOutThatSaysWhere) { ExpectTimeout("canary_endless_spin", "spins", "Spin()"); }

TEST_P(EndlessTest, WhereNobodySchedulesAWaitIsOneToo) {
  const std::string place = std::get<0>(GetParam());
  if (place == "operation" || place == "created") GTEST_SKIP() << "a deadlock or a livelock there (PlantedTest)";
  ExpectTimeout("canary_endless_wait", "pauses", "PauseForEver()");
  ExpectTimeout("canary_livelock", "yields", "YieldForEver()");
}

// Until libFuzzer's last word before the first execution, and a while longer. Before, a signal may strike in the sanitizer's own
// start, whose report of it then waits for a lock that is held where it struck, for ever.
void AwaitExecution(TargetProcess& fuzz, int wait_ms) {
  EXPECT_TRUE(fuzz.AwaitOutput("INFO: seed corpus: "));
  std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
}

// Sends `signal` in the middle of an endless execution and returns the end. How soon the execution begins is not known, so this
// tries again with more patience until the file shows that it had.
void Interrupt(const Endless& where, int signal, const std::string& file_start, int code) {
  const auto& [place, carrier] = where;
  for (int wait_ms = 30; wait_ms < 20'000; wait_ms *= 2) {
    Variables variables = With("spins", carrier);
    variables["HANDOFF_CONFIRM_SECONDS"] = "10";  // in vain
    TargetProcess fuzz("canary_endless_spin", {"-runs=0", FolderWithFile("case", EndingCase(place))}, variables);
    AwaitExecution(fuzz, wait_ms);
    const std::vector<pid_t> children = fuzz.Children();
    kill(fuzz.pid(), signal);
    const Ended end = fuzz.Wait();
    if (fuzz.Files().empty()) continue;
    // The cold parent goes too, without a look at what was interrupted: it holds standard error.
    for (const pid_t child : children) {
      for (; IsRunning(child); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        EXPECT_TRUE(code != kExitInterrupted || ChildrenOf(child).empty());
    }
    EXPECT_EQ(end.code, code) << end.output;
    EXPECT_TRUE(fuzz.Files()[0].starts_with(file_start)) << fuzz.Files()[0];
    EXPECT_FALSE(ReadAll(fuzz.Folder() + fuzz.Files()[0]).empty());
    return;
  }
  ADD_FAILURE() << "no execution was interrupted";
}

TEST_P(EndlessTest, AnInterruptedExecutionIsKept) {
  Interrupt(GetParam(), SIGINT, "interrupted-", kExitInterrupted);
  Interrupt(GetParam(), SIGTERM, "interrupted-", kExitInterrupted);
}

TEST_P(EndlessTest, ASignalFromOutsideIsAFindingThatCannotBeConfirmed) {
  if (std::get<0>(GetParam()) != "operation")
    GTEST_SKIP() << "takes its time: the case never ends, and each cold run of it neither";
  Interrupt(GetParam(), SIGSEGV, "", kExitFinding);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, EndlessTest,
                         ::testing::Combine(::testing::Values("operation", "created", "finish", "end"),
                                            ::testing::Values("fiber", "thread")),
                         [](const auto& where) { return std::get<0>(where.param) + "_" + std::get<1>(where.param); });

TEST(ColdParentTest, WithoutOneTheCaseIsWrittenByTheFailingProcessItself) {
  for (int wait_ms = 30; wait_ms < 20'000; wait_ms *= 2) {
    TargetProcess fuzz("canary_endless_spin", {"-runs=0", FolderWithFile("case", EndingCase("operation"))},
                       With("spins", "fiber"));
    AwaitExecution(fuzz, wait_ms);
    for (const pid_t child : fuzz.Children()) kill(child, SIGKILL);
    kill(fuzz.pid(), SIGSEGV);
    const Ended end = fuzz.Wait();
    if (fuzz.Files().empty()) continue;
    EXPECT_EQ(end.code, kExitFinding) << end.output;
    EXPECT_TRUE(fuzz.Files()[0].starts_with("unconfirmed-"));
    EXPECT_NE(end.output.find("Unconfirmed unit written to "), std::string::npos) << end.output;
    return;
  }
  FAIL() << "no execution was in flight";
}

TEST(ReplayTest, ACleanCaseSaysSo) {
  const std::string folder = FolderWithFile("case", EndingCase("operation"));
  TargetProcess replay("canary_abort", {folder + "case", "-runs=3"});
  const Ended end = replay.Wait();
  EXPECT_EQ(end.code, 0);
  EXPECT_TRUE(end.output.ends_with(": did not fail in 3 runs.\n")) << end.output;
}

TEST(ReplayTest, ATextCaseWithAnErrorIsRefused) {
  const std::string folder = FolderWithFile("case", "handoff case 1\nthreads 2\nA armm\n");
  const Ended end = TargetProcess("canary_abort", {folder + "case"}).Wait();
  EXPECT_EQ(end.code, kExitUsage);
  EXPECT_NE(end.output.find("case:3:3: expected"), std::string::npos) << end.output;
}

TEST(UsageTest, AnEndBeforeTheFirstExecutionIsNoFinding) {
  const Ended end = TargetProcess("canary_abort", {"-seed=x"}).Wait();
  EXPECT_EQ(end.code, kExitUsage) << end.output;
}

TEST(UsageTest, ATwinThatIsNotFoundIsSaidToBeSo) {
  const std::string folder = FolderWithFile("case", "handoff case 1\nthreads 1\nA arm\n");
  for (const char* twin : {"aborts", ""}) {
    TargetProcess fuzz("canary_abort", {"-runs=0", folder}, With(twin, "fiber"));
    const Ended end = fuzz.Wait();
    EXPECT_EQ(end.code, 0) << end.output;
    EXPECT_EQ(end.output.find("handoff: twin aborts was not found\n") != std::string::npos, twin[0] != '\0') << end.output;
  }
}

TEST(UsageTest, AnUnknownTwinListsTheValidOnes) {
  const Ended end = TargetProcess("canary_abort", {"-runs=1"}, {{"HANDOFF_TWIN", "none"}}).Wait();
  EXPECT_EQ(end.code, kExitUsage);
  EXPECT_EQ(end.output, "HANDOFF_TWIN: expected one of aborts (or unset, for the safe one), found 'none'\n");
}

TEST(OverrideTest, WhatTheEnvironmentAsksForIsInTheFile) {
  Variables variables = With("spins", "fiber");
  variables["HANDOFF_GRANULARITY"] = "sync";
  variables["HANDOFF_PARAMETER"] = "7";
  TargetProcess fuzz("canary_endless_spin", {"-timeout=1", "-runs=0", FolderWithFile("case", EndingCase("operation"))},
                     variables);
  const Ended end = fuzz.Wait();
  ASSERT_EQ(fuzz.Files().size(), 1U) << end.output;
  const std::string header = ReadAll(fuzz.Folder() + fuzz.Files()[0]).substr(0, 7);
  EXPECT_EQ(header, std::string("\xca\x5e\x01\x05\x01\x02\x07", 7))
      << "magic, version, listed, sync, two threads, parameter (harness/case/binary.h)";
}

TEST(FreeTest, ThreadsWithoutControlEndInAFileToo) {
  Variables variables = With("writes_to_null", "thread");
  variables["HANDOFF_STRATEGY"] = "free";
  // Both threads may fail at the same time; one of them reports.
  const std::string content = "handoff case 1\nthreads 2\nA arm\nA fire place=operation\nB arm\nB fire place=operation\n";
  TargetProcess fuzz("canary_segv", {"-runs=1000", "-max_len=60", FolderWithFile("case", content)}, variables);
  const Ended end = fuzz.Wait();
  EXPECT_EQ(end.code, kExitFinding) << end.output;
  ASSERT_EQ(fuzz.Files().size(), 1U) << end.output;
  EXPECT_FALSE(ReadAll(fuzz.Folder() + fuzz.Files()[0]).empty());
}

TEST(OutputTest, TheFileIsNamedEvenIfStandardErrorIsClosed) {
  TargetProcess fuzz("canary_abort", {"-close_fd_mask=3", "-runs=0", FolderWithFile("case", EndingCase("operation"))},
                     With("aborts", "fiber"));
  const Ended end = fuzz.Wait();
  EXPECT_EQ(end.code, kExitFinding);
  ASSERT_EQ(fuzz.Files().size(), 1U) << end.output;
  EXPECT_EQ(LineAfter(end.output, "Test unit written to "), fuzz.Folder() + fuzz.Files()[0]) << end.output;
}

// A symbolizer that cannot start, or dies: writing to it must not end the process that has a finding to tell.
TEST(SymbolizerTest, OneThatEndsAtOnceCostsNamesOnly) {
  const std::string folder = FolderWithFile("llvm-symbolizer", "#!/bin/sh\nexit 3\n");
  ASSERT_EQ(chmod((folder + "llvm-symbolizer").c_str(), 0755), 0);
  for (int i = 0; i < 3; ++i) {
    Variables variables = With(HANDOFF_TSAN != 0 ? "unlocked" : "pointer_kept", "fiber");
    variables[HANDOFF_TSAN != 0 ? "TSAN_OPTIONS" : "ASAN_OPTIONS"] = "external_symbolizer_path=" + folder + "llvm-symbolizer";
    TargetProcess fuzz(HANDOFF_TSAN != 0 ? "canary_data_race" : "canary_use_after_free", {"-seed=1"}, variables);
    const Ended end = fuzz.Wait();
    EXPECT_EQ(end.code, kExitFinding) << end.output;
    ASSERT_EQ(fuzz.Files().size(), 1U) << end.output;
    EXPECT_FALSE(ReadAll(fuzz.Folder() + fuzz.Files()[0]).empty());
    EXPECT_NE(end.output.find("\nFINDING\n"), std::string::npos) << end.output;
  }
}

// What was confirmed is in a file from then on, whatever the cold parent is doing with it when somebody loses patience.
TEST(ShorteningTest, WhoInterruptsItIsToldAFileThatIsThere) {
  TargetProcess fuzz(HANDOFF_TSAN != 0 ? "canary_data_race" : "canary_use_after_free", {"-seed=1"},
                     With(HANDOFF_TSAN != 0 ? "unlocked" : "pointer_kept", "fiber"));
  const auto has_file = [&fuzz] {
    const std::vector<std::string> files = fuzz.Files();
    return !files.empty() && files[0].starts_with("crash-");
  };
  while (!has_file() && !fuzz.HasEnded()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(fuzz.pid(), SIGINT);
  const Ended end = fuzz.Wait();
  // It may have been through by then.
  EXPECT_TRUE(end.code == kExitInterrupted || end.code == kExitFinding) << end.output;
  std::string named = LineAfter(end.output, "Test unit written to ");
  if (named.empty()) named = LineAfter(end.output, "Interrupted unit written to ");  // that file was there, but not yet complete
  EXPECT_FALSE(ReadAll(named).empty()) << end.output;
}

#if HANDOFF_HAVE_PYTHON
// The first request for an end of the interpreter is heard, and the one in the case that fails is not; a fresh process would hear
// it, and do all that comes after it elsewhere.
TEST(ConfirmTest, WhatIsFoundBehindARequestThatWasNotHeardIsConfirmed) {
  // libFuzzer takes the smaller file first.
  const std::string folder = FolderWithFile("first", "handoff case 1\nthreads 1\nA finalize\n");
  std::ofstream(folder + "second")
      << "handoff case 1\nstrategy listed\ngranularity op\nthreads 1\nA finalize\nA wrap how=copied\n";
  TargetProcess fuzz("object_slot_python", {"-runs=0", folder}, With("slot_not_cleared", "thread"));
  const Ended end = fuzz.Wait();
  EXPECT_EQ(end.code, kExitFinding) << end.output;
  ASSERT_EQ(fuzz.Files().size(), 1U) << end.output;
  EXPECT_TRUE(fuzz.Files()[0].starts_with("crash-")) << end.output;
  EXPECT_EQ(end.output.find("finalize"), std::string::npos) << "it has nothing to do with what was found\n" << end.output;
}
#endif

TEST(MergeTest, FailingInputsArePassedOver) {
  const std::string from = FolderWithFile("case", EndingCase("operation"));
  const std::string to = FolderWithFile("other", "handoff case 1\nthreads 1\nA arm\n");
  TargetProcess merge("canary_abort", {"-merge=1", to, from}, With("aborts", "fiber"));
  const Ended end = merge.Wait();
  EXPECT_EQ(end.code, 0) << end.output;
}

TEST(MinimizeTest, LibFuzzersMinimiserKeepsItsOwnInputs) {
  const std::string folder = FolderWithFile(
      "case", "handoff case 1\nstrategy bytes\ngranularity op\nthreads 2\nA arm\nA arm\nA arm\nB fire place=operation\n");
  TargetProcess minimize("canary_abort",
                         {"-minimize_crash=1", "-runs=300", "-exact_artifact_path=" + folder + "small", folder + "case"},
                         With("aborts", "fiber"));
  const Ended end = minimize.Wait();
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_FALSE(ReadAll(folder + "small").empty()) << end.output;
}

}  // namespace
}  // namespace handoff
