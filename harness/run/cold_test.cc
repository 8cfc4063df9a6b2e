#include "harness/run/cold.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/run/describe.h"
#include "harness/run/ends.h"
#include "harness/run/subject_for_test.h"
#include "harness/schedule/point.h"

namespace handoff {
namespace {

constexpr int kLimit = 60;  // seconds; only what hangs is allowed to need them

class ColdTest : public ::testing::Test {
 protected:
  ColdTest() : exchange_(NewExchange()), executor_(subject_, schedule::Carrier::kFiber) {}

  Outcome Run(std::function<void(int, const Operation&)> on_apply, const Case& c = SmallCase(), bool check_repeats = false) {
    subject_.on_apply = std::move(on_apply);
    return ColdRunner(executor_, subject_, *exchange_, -1).Run(c, kLimit, check_repeats);
  }

  CallingSubject subject_;  // nothing runs in this process, so no carrier keeps a pointer to it
  Exchange* exchange_;
  Executor executor_;
};

TEST_F(ColdTest, AnExecutionThatPassesIsClean) {
  const Outcome outcome = Run([](int, const Operation&) {});
  EXPECT_EQ(outcome.end, EndKind::kClean);
  EXPECT_FALSE(outcome.Failed());
  EXPECT_FALSE(outcome.trace.empty());
}

TEST_F(ColdTest, NothingOfAnExecutionStaysBehind) {
  Run([](int, const Operation&) {});
  EXPECT_TRUE(subject_.Calls().empty());
}

TEST_F(ColdTest, EqualCasesHaveEqualHashes) {
  Case c = SmallCase(Strategy::kRandom, Granularity::kSync);
  c.bytes = {3, 1, 4};
  const auto step = [](int, const Operation&) { HANDOFF_SYNC_POINT(nullptr, "step"); };
  const Outcome first = Run(step, c);
  EXPECT_EQ(Run(step, c).hash, first.hash);
  EXPECT_EQ(Run(step, Listed(c, first)).hash, first.hash) << "the run's own switches give the same run";
}

TEST_F(ColdTest, AProfileComesFromAPilotOfItsOwn) {
  Case c = SmallCase(Strategy::kPct, Granularity::kSync);
  const Outcome outcome = Run(
      [](int thread, const Operation& operation) {
        static std::atomic<int> calls = 0;
        if (thread == 0 && operation.code == 0 && ++calls > 1) oracle::Fail("second-run", "", "ran before in this process");
      },
      c);
  EXPECT_EQ(outcome.end, EndKind::kClean) << outcome.kind;
}

TEST_F(ColdTest, AVerdictComesBackWithItsPlace) {
  const Outcome outcome = Run([](int thread, const Operation& operation) {
    if (thread == 0 && operation.code == 1) oracle::Fail("double-delete", "R3", "tensor %d", 7);
  });
  EXPECT_EQ(outcome.end, EndKind::kFinding);
  EXPECT_EQ(outcome.kind, "double-delete");
  EXPECT_EQ(outcome.rule, "R3");
  EXPECT_EQ(outcome.detail, "tensor 7");
  EXPECT_EQ(outcome.thread, 0);
  EXPECT_EQ(outcome.at.operation, 1);
}

TEST_F(ColdTest, NamesOfStepsSurviveTheirProcess) {
  const Outcome outcome = Run([](int, const Operation&) {
    HANDOFF_SYNC_POINT(nullptr, "open the box");
    oracle::Fail("wrong-value", "", "box");
  });
  bool seen = false;
  for (const TraceStep& step : outcome.trace) seen = seen || (step.what != nullptr && std::string(step.what) == "open the box");
  EXPECT_TRUE(seen);
}

TEST_F(ColdTest, AnAbortIsAFinding) {
  const Outcome outcome = Run([](int, const Operation&) {
    std::fputs("box is empty\n", stderr);
    std::abort();
  });
  EXPECT_EQ(outcome.kind, "abort");
  EXPECT_NE((outcome.detail + outcome.text).find("box is empty"), std::string::npos) << "what it said before is kept";
}

TEST_F(ColdTest, ASilentExitIsAFinding) {
  const Outcome outcome = Run([](int, const Operation&) { _exit(3); });
  EXPECT_EQ(outcome.kind, "exit");
  EXPECT_NE(outcome.detail.find("code 3"), std::string::npos) << outcome.detail;
}

TEST_F(ColdTest, AKilledChildIsAFinding) {
  const Outcome outcome = Run([](int, const Operation&) { kill(getpid(), SIGKILL); });
  EXPECT_EQ(outcome.kind, "killed");
}

TEST_F(ColdTest, AnEndlessExecutionIsATimeOut) {
  subject_.on_apply = [](int, const Operation&) {
    for (volatile bool go_on = true; go_on;) {
    }
  };
  const Outcome outcome = ColdRunner(executor_, subject_, *exchange_, -1).Run(SmallCase(), 1);
  EXPECT_EQ(outcome.end, EndKind::kTimeout);
  EXPECT_FALSE(outcome.stacks.empty());
}

std::mutex first_lock;
std::mutex second_lock;
// A takes the one, then the other; B the other way round.
[[gnu::noinline]] void TakeOne(std::mutex& lock) { lock.lock(); }
[[gnu::noinline]] void TakeBoth(std::mutex& one, std::mutex& other) {
  TakeOne(one);
  HANDOFF_SYNC_POINT(nullptr, "between");
  TakeOne(other);
}

TEST_F(ColdTest, ADeadlockTellsWhereEachThreadWaitsAndWhereTheLockWasTaken) {
  subject_.on_apply = [](int thread, const Operation& operation) {
    if (operation.code == 1) return;
    thread == 0 ? TakeBoth(first_lock, second_lock) : TakeBoth(second_lock, first_lock);
  };
  Case c = SmallCase(Strategy::kRandom, Granularity::kSync);
  for (const schedule::Carrier carrier : {schedule::Carrier::kFiber, schedule::Carrier::kThread}) {
    Executor executor(subject_, carrier);
    ColdRunner runner(executor, subject_, *exchange_, -1);
    Outcome outcome;
    for (c.bytes = {0}; outcome.kind != "deadlock" && c.bytes[0] < 100; ++c.bytes[0]) outcome = runner.Run(c, 5);
    ASSERT_EQ(outcome.kind, "deadlock");
    ASSERT_EQ(outcome.stacks.size(), 4U);
    using schedule::StackOf;
    EXPECT_EQ(outcome.stacks[0].of, StackOf::kWaits);
    EXPECT_EQ(outcome.stacks[1].of, StackOf::kTook);
    EXPECT_EQ(outcome.stacks[1].thread, 1) << "it holds what A waits for";
    EXPECT_EQ(outcome.stacks[2].thread, 1);
    EXPECT_GT(outcome.stacks[0].count, 5);
    if (SanitizerName() == "none") continue;  // no symbolizer
    ASSERT_EQ(outcome.sites.size(), 2U);
    EXPECT_EQ(outcome.sites[0].function, "handoff::(anonymous namespace)::TakeOne");
    EXPECT_EQ(outcome.sites[0].access, "mutex");
    EXPECT_EQ(outcome.sites[0].place.substr(0, 13), "cold_test.cc:");
    EXPECT_NE(outcome.text.find("  Thread A waits for mutex #"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("  which thread A took here:\n    #0 pthread_mutex_lock"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("TakeBoth"), std::string::npos) << outcome.text;
  }
}

TEST_F(ColdTest, OnlyWhatNobodyCouldEndIsDecisiveWithoutACycle) {
  static std::mutex lock;
  static std::condition_variable never;
  subject_.on_apply = [](int thread, const Operation& operation) {
    if (operation.code == 1) return;
    if (thread == 1) return TakeOne(lock);  // waits as well, for A
    TakeOne(lock);
    std::mutex own;
    std::unique_lock holds(own);
    never.wait(holds);
  };
  Case c = SmallCase();
  const Outcome outcome = ColdRunner(executor_, subject_, *exchange_, -1).Run(c, 5);
  ASSERT_EQ(outcome.kind, "deadlock");
  ASSERT_EQ(outcome.stacks.size(), 3U);
  if (SanitizerName() == "none") return;
  ASSERT_EQ(outcome.sites.size(), 2U) << outcome.text;
  EXPECT_EQ(outcome.sites[0].thread, 0);
  EXPECT_EQ(outcome.sites[0].access, "condition variable");
  EXPECT_TRUE(outcome.sites[0].decisive);
  EXPECT_FALSE(outcome.sites[1].decisive) << "it waits for A";
}

TEST_F(ColdTest, OfSeveralReadersOnlyTheLastToComeIsSaidToHaveTakenTheLock) {
  static std::shared_mutex lock;
  Case c = SmallCase();
  c.threads.push_back({{.code = 0}});
  std::swap(c.threads[1], c.threads[2]);  // A and C read, B writes
  c.switches = {{.thread = 0, .to = 2, .at = {.operation = 2}}};
  subject_.on_apply = [](int thread, const Operation& operation) {
    if (operation.code == 1) return;
    if (thread == 1) return lock.lock();
    lock.lock_shared();
  };
  const Outcome outcome = ColdRunner(executor_, subject_, *exchange_, -1).Run(c, 5);
  ASSERT_EQ(outcome.kind, "deadlock");
  for (const schedule::Stack& stack : outcome.stacks) {
    EXPECT_TRUE(stack.of != schedule::StackOf::kTook || stack.thread == 2) << outcome.detail;
  }
  EXPECT_NE(outcome.detail.find("held by C"), std::string::npos) << outcome.detail;
}

#ifdef __x86_64__
// Says that its caller's frame lies where rbp points, and lets rbp point nowhere.
asm(".text\n"
    "handoff_test_badly_unwound:\n"
    ".cfi_startproc\n"
    "pushq %rbp\n"
    "movq $16, %rbp\n"
    ".cfi_def_cfa rbp, 16\n"
    "call *%rdi\n"
    "popq %rbp\n"
    "retq\n"
    ".cfi_endproc\n");
extern "C" void handoff_test_badly_unwound(void (*call)());

TEST_F(ColdTest, WrongUnwindInformationCostsFramesOnly) {
  const Outcome outcome = Run([](int thread, const Operation&) {
    if (thread == 0)
      handoff_test_badly_unwound([] {
        for (;;) pause();
      });
  });
  EXPECT_EQ(outcome.kind, "deadlock") << outcome.text;
  ASSERT_FALSE(outcome.stacks.empty());
  EXPECT_GT(outcome.stacks[0].count, 1);
}
#endif

TEST_F(ColdTest, ALivelockTellsWhereAllThreadsStand) {
  static std::mutex one;
  static std::mutex other;
  const Outcome outcome = Run([](int thread, const Operation& operation) {
    if (operation.code == 1) return;
    (thread == 0 ? one : other).lock();
    sched_yield();
    while (!(thread == 0 ? other : one).try_lock()) sched_yield();
  });
  ASSERT_EQ(outcome.kind, "livelock") << outcome.text;
  EXPECT_EQ(outcome.stacks.size(), 2U);
  EXPECT_GT(outcome.steps_lost, 0U);
  EXPECT_EQ(outcome.trace[0].kind, schedule::StepKind::kBegin) << "the beginning is kept";
  if (SanitizerName() == "none") return;
  EXPECT_EQ(outcome.where.place.substr(0, 13), "cold_test.cc:") << outcome.text;
}

TEST_F(ColdTest, AVerdictTellsWhereItsThreadStood) {
  const Outcome outcome = Run([](int thread, const Operation& operation) {
    if (thread == 0 && operation.code == 1) oracle::Fail("protocol", "R1", "planted");
  });
  ASSERT_EQ(outcome.kind, "protocol");
  ASSERT_EQ(outcome.stacks.size(), 1U);
  EXPECT_EQ(outcome.stacks[0].thread, 0);
  if (SanitizerName() == "none") return;
  EXPECT_EQ(outcome.where.place.substr(0, 13), "cold_test.cc:") << outcome.text;
}

TEST_F(ColdTest, RepeatsAreCheckedInTheSameChild) {
  const auto count = [](int, const Operation&) {
    static std::atomic<int> calls = 0;
    for (int i = 0; i < calls.load(); ++i) HANDOFF_SYNC_POINT(nullptr, "step");
    ++calls;
  };
  Case c = SmallCase(Strategy::kRandom, Granularity::kSync);
  c.parameter = 128;
  EXPECT_EQ(Run(count, c, false).end, EndKind::kClean);
  EXPECT_EQ(Run(count, c, true).kind, "nondeterministic");
}

TEST_F(ColdTest, AClosedSocketMeansThatNobodyWaits) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ColdRunner runner(executor_, subject_, *exchange_, ends[1]);
  EXPECT_FALSE(runner.Abandoned());
  close(ends[0]);
  EXPECT_TRUE(runner.Abandoned());
  runner.ForgetCaller();
  EXPECT_FALSE(runner.Abandoned());
  close(ends[1]);
}

}  // namespace
}  // namespace handoff
