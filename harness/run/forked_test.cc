// What an operation starts as a process of its own: in a cold run, which sets its signals and its standard error in its own way.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/run/cold.h"
#include "harness/run/describe.h"
#include "harness/run/subject_for_test.h"

namespace handoff {
namespace {

constexpr int kLimit = 60;  // seconds; only what hangs is allowed to need them

Outcome RunCold(std::function<void()> operation) {
  CallingSubject subject;
  Executor executor(subject, schedule::Carrier::kFiber);
  Exchange* exchange = NewExchange();
  subject.on_apply = [operation = std::move(operation)](int, const Operation&) { operation(); };
  return ColdRunner(executor, subject, *exchange, -1).Run(SmallCase(), kLimit);
}

int StatusOf(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void Expect(bool ok, int status) {
  if (!ok) oracle::Fail("wrong-status", "", "status %x", static_cast<unsigned>(status));
}

void ExpectClean(std::function<void()> operation) {
  const Outcome outcome = RunCold(std::move(operation));
  EXPECT_EQ(outcome.end, EndKind::kClean) << outcome.kind << ": " << outcome.detail;
}

TEST(ForkedTest, WhatItIsSentEndsIt) {
  ExpectClean([] {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    kill(child, SIGTERM);
    const int status = StatusOf(child);
    Expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, status);
  });
}

TEST(ForkedTest, WhatAnExecutedProgramIsSentEndsIt) {
  ExpectClean([] {
    pid_t child = -1;
    const char* const words[] = {"sleep", "1000", nullptr};
    if (posix_spawnp(&child, "sleep", nullptr, nullptr, const_cast<char* const*>(words), environ) != 0) return;
    kill(child, SIGTERM);
    const int status = StatusOf(child);
    Expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, status);
  });
}

TEST(ForkedTest, ItsAbortIsAnAbort) {
  ExpectClean([] {
    const pid_t child = fork();
    if (child == 0) std::abort();
    const int status = StatusOf(child);
    Expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, status);
  });
}

TEST(ForkedTest, ItsExitCodeIsItsOwnAndWhatItPrintedIsThere) {
  const std::string path = testing::TempDir() + "forked_exit.txt";
  ExpectClean([&path] {
    const pid_t child = fork();
    if (child == 0) {
      std::FILE* file = std::fopen(path.c_str(), "w");
      if (file != nullptr) std::fputs("done", file);
      std::exit(3);
    }
    const int status = StatusOf(child);
    Expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, status);
  });
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "done");
}

TEST(ForkedTest, TheStandardErrorThatItWasGivenIsKept) {
  ExpectClean([] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return;
    const pid_t child = fork();
    if (child == 0) _exit(write(STDERR_FILENO, "hi", 2) == 2 ? 0 : 1);
    Expect(StatusOf(child) == 0, 0);
    char text[2] = {};
    Expect(read(ends[0], text, 2) == 2 && text[0] == 'h', 1);
  });
}

// The sanitizers' runtime would write its report to `.PID`, where PID is the child's number.
TEST(ForkedTest, ItsCrashIsNotTheRunsFindingAndLeavesNoFile) {
  const Outcome outcome = RunCold([] {
    const pid_t child = fork();
    if (child == 0) {
      int* volatile nowhere = nullptr;
      *nowhere = 1;
    }
    const int status = StatusOf(child);
    for (const auto& entry : std::filesystem::directory_iterator(".")) {
      if (!entry.path().filename().string().ends_with("." + std::to_string(child))) continue;
      std::filesystem::remove(entry.path());
      oracle::Fail("left-behind", "", "%s", entry.path().c_str());
    }
    oracle::Fail(status == 0 ? "no-crash" : "after-crash", "", "status %d", status);
  });
  EXPECT_EQ(outcome.kind, "after-crash") << outcome.detail;
  EXPECT_EQ(outcome.text.find("Sanitizer"), std::string::npos) << outcome.text;
}

// Else a finding would be late, since the child holds what tells that the run is over, and the child would be there for ever.
TEST(ForkedTest, WhatIsLeftRunningGoesWithTheRun) {
  const Outcome outcome = RunCold([] {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    oracle::Fail("left-running", "", "%d", child);
  });
  ASSERT_EQ(outcome.kind, "left-running");
  // It is killed by then, and ends when the kernel gets round to it.
  const auto state = [&outcome] {
    std::ifstream stat("/proc/" + outcome.detail + "/stat");
    std::string number;
    std::string name;
    std::string letter = "gone";
    stat >> number >> name >> letter;
    return letter;
  };
  const auto is_over = [&state] { return state() == "gone" || state() == "Z" || state() == "X"; };
  for (int i = 0; i < kLimit * 1000 && !is_over(); ++i) usleep(1000);
  EXPECT_TRUE(is_over()) << state();
}

}  // namespace
}  // namespace handoff
