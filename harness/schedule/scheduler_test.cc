#include "harness/schedule/scheduler.h"

#include <semaphore.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "harness/schedule/point.h"
#include "harness/schedule/program_for_test.h"
#include "harness/schedule/state.h"

namespace handoff::schedule {
namespace {

class SchedulerTest : public testing::TestWithParam<Carrier> {};
INSTANTIATE_TEST_SUITE_P(Carriers, SchedulerTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

constexpr handoff::Strategy kControlled[] = {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPct,
                                             handoff::Strategy::kPos, handoff::Strategy::kSurw};
constexpr Granularity kAll[] = {Granularity::kOp, Granularity::kSync, Granularity::kAccess};

// Three threads that write down who came, with a point in each operation. Each writes a place of its own, so there is no race.
char visits[64];
std::atomic<std::size_t> visit_count;
void Visit(char name) {
  HANDOFF_SYNC_POINT(&visit_count, "visit");
  visits[visit_count.fetch_add(1, std::memory_order_relaxed)] = name;
}
Program::Threads Visitors() {
  Program::Threads threads;
  for (char name = 'A'; name < 'D'; ++name) threads.emplace_back(3, [name] { Visit(name); });
  return threads;
}
std::string OrderOf(Program& program, const Plan& plan, Carrier carrier) {
  visit_count = 0;
  program.Run(plan, carrier);
  return {visits, visit_count};
}

TEST_P(SchedulerTest, WithoutSwitchesEachThreadRunsToItsEndInTurn) {
  Program program(Visitors());
  EXPECT_EQ(OrderOf(program, MakePlan(handoff::Strategy::kListed, Granularity::kAccess, 1), GetParam()), "AAABBBCCC");
}

TEST_P(SchedulerTest, SameSeedSameOrderSameHash) {
  Program program(Visitors());
  for (const handoff::Strategy strategy : kControlled) {
    for (const Granularity granularity : kAll) {
      const Plan plan = MakePlan(strategy, granularity, 42);
      const std::string first = OrderOf(program, plan, GetParam());
      const std::uint64_t hash = CurrentRecord().hash;
      EXPECT_EQ(OrderOf(program, plan, GetParam()), first);
      EXPECT_EQ(CurrentRecord().hash, hash);
    }
  }
}

TEST_P(SchedulerTest, DifferentSeedsReachManyOrders) {
  Program program(Visitors());
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    orders.insert(OrderOf(program, MakePlan(handoff::Strategy::kPos, Granularity::kSync, seed), GetParam()));
  }
  EXPECT_GT(orders.size(), 100U);  // of 1,680; POS draws each afresh
}

TEST_P(SchedulerTest, RecordedSwitchesGiveTheSameRun) {
  Program program(Visitors());
  for (const handoff::Strategy strategy : kControlled) {
    for (const Granularity granularity : kAll) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::string wanted = OrderOf(program, MakePlan(strategy, granularity, seed), GetParam());
        const std::uint64_t hash = CurrentRecord().hash;
        const std::vector<Switch> switches(CurrentRecord().switches, CurrentRecord().switches + CurrentRecord().switch_count);
        Plan listed = MakePlan(handoff::Strategy::kListed, granularity, 0);
        listed.switches = switches.data();
        listed.switch_count = switches.size();
        EXPECT_EQ(OrderOf(program, listed, GetParam()), wanted);
        EXPECT_EQ(CurrentRecord().hash, hash);
      }
    }
  }
}

TEST(SchedulerTest, FibersAndThreadsTakeTheSameDecisions) {
  Program program(Visitors());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Plan plan = MakePlan(handoff::Strategy::kRandom, Granularity::kAccess, seed);
    const std::string on_fibers = OrderOf(program, plan, Carrier::kFiber);
    const std::uint64_t hash = CurrentRecord().hash;
    EXPECT_EQ(OrderOf(program, plan, Carrier::kThread), on_fibers);
    EXPECT_EQ(CurrentRecord().hash, hash);
  }
}

TEST_P(SchedulerTest, AThreadWithoutOperationsHasEndedBeforeItBegins) {
  Program::Threads threads = Visitors();
  threads[1].clear();
  Program program(threads);
  EXPECT_EQ(OrderOf(program, MakePlan(handoff::Strategy::kListed, Granularity::kOp, 0), GetParam()), "AAACCC");
}

TEST_P(SchedulerTest, AnEmptyProgramEnds) {
  Program program({{}, {}});
  EXPECT_EQ(program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kAccess, 0), GetParam()).decisions, 0U);
}

// A lost update: load and store of one atomic, with no point between them in the source.
TEST_P(SchedulerTest, AccessPointsReachBetweenTwoAccesses) {
  if (FinestGranularity() != Granularity::kAccess) GTEST_SKIP() << "this build has no access points";
  static std::atomic<int> value;
  const auto add = [] { value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); };
  Program program({{add}, {add}});
  int lost[kGranularities] = {};
  for (const Granularity granularity : kAll) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      value = 0;
      program.Run(MakePlan(handoff::Strategy::kRandom, granularity, seed), GetParam());
      if (value != 2) ++lost[static_cast<int>(granularity)];
    }
  }
  EXPECT_EQ(lost[0], 0);
  EXPECT_EQ(lost[1], 0);
  EXPECT_GT(lost[2], 0);
}

std::atomic<int> first_store;
std::atomic<int> second_store;
std::atomic<bool> seen_torn;
bool was_alone;
void StoreTwice() {
  first_store.store(1, std::memory_order_relaxed);
  second_store.store(1, std::memory_order_relaxed);
}
void LoadTwice() {
  const int second = second_store.load(std::memory_order_relaxed);
  seen_torn = first_store.load(std::memory_order_relaxed) == 1 && second == 0;
}

// Of `kSeeds` runs at access points, how many let thread B see the first of two stores that A makes right behind what makes B
// ready.
int TornReads(Program& program, handoff::Strategy strategy, Carrier carrier) {
  constexpr std::uint64_t kSeeds = 300;
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same runs every time
  int torn = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    first_store = second_store = 0;
    seen_torn = false;
    std::uint8_t bytes[12];
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 16);
    Plan plan = MakePlan(strategy, Granularity::kAccess, seed);
    plan.bytes = bytes;
    plan.byte_count = sizeof bytes;
    program.Run(plan, carrier);
    torn += seen_torn && was_alone ? 1 : 0;
  }
  return torn;
}

// A is alone at its last point, so no strategy was asked how far it may go, and only then makes B ready.
TEST_P(SchedulerTest, AccessPointsReachBehindAWakeByAThreadThatWasAlone) {
  if (FinestGranularity() != Granularity::kAccess) GTEST_SKIP() << "this build has no access points";
  static sem_t posted;
  sem_init(&posted, 0, 0);
  Program program({{[] {
                     was_alone = state.ready == Only(Self());
                     sem_post(&posted);
                     StoreTwice();
                   }},
                   {[] {
                     sem_wait(&posted);
                     LoadTwice();
                   }}});
  for (const auto strategy : {handoff::Strategy::kRandom, handoff::Strategy::kBytes}) {
    EXPECT_GT(TornReads(program, strategy, GetParam()), 0) << static_cast<int>(strategy);
  }
}

TEST_P(SchedulerTest, AccessPointsReachBehindACreationByAThreadThatWasAlone) {
  if (FinestGranularity() != Granularity::kAccess) GTEST_SKIP() << "this build has no access points";
  Program program({{[] {
    was_alone = state.ready == Only(Self());
    std::thread created(LoadTwice);
    StoreTwice();
    created.join();
  }}});
  for (const auto strategy : {handoff::Strategy::kRandom, handoff::Strategy::kBytes}) {
    EXPECT_GT(TornReads(program, strategy, GetParam()), 0) << static_cast<int>(strategy);
  }
}

TEST_P(SchedulerTest, PauseTakesThePointsOut) {
  const auto visit = [] {
    Pause();
    Visit('A');
    Resume();
  };
  Program program({{visit}, {[] { Visit('B'); }}});
  program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, 3), GetParam());
  EXPECT_EQ(CurrentRecord().profile.steps_of[0], 0U);
  EXPECT_EQ(CurrentRecord().profile.steps_of[1], 1U);
}

TEST_P(SchedulerTest, CreatedThreadsAreEnrolled) {
  const auto create = [] {
    std::thread child([] {
      Visit('x');
      Visit('y');
    });
    Visit('A');
    child.join();
    Visit('Z');
  };
  Program program({{create}, {[] { Visit('B'); }}});
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Plan plan = MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed);
    const std::string first = OrderOf(program, plan, GetParam());
    EXPECT_LT(first.find('y'), first.find('Z'));
    EXPECT_EQ(OrderOf(program, plan, GetParam()), first);
    orders.insert(first);
  }
  EXPECT_GT(orders.size(), 3U);
}

TEST(SchedulerTest, ACreatedThreadIsNotTakenForAnIdleCarrierOfItsNumber) {
  Program large(Visitors());
  OrderOf(large, MakePlan(handoff::Strategy::kListed, Granularity::kOp, 0), Carrier::kThread);
  Program small({{[] { std::thread([] { Visit('x'); }).join(); }}});
  EXPECT_EQ(OrderOf(small, MakePlan(handoff::Strategy::kListed, Granularity::kOp, 0), Carrier::kThread), "x");
}

TEST_P(SchedulerTest, NumbersOfEndedThreadsAreUsedAgain) {
  const auto create = [] {
    for (int i = 0; i < 20; ++i) std::thread([] { Visit('x'); }).join();
  };
  Program program({{create}, {[] { Visit('B'); }}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string wanted = OrderOf(program, MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
    EXPECT_EQ(wanted.size(), 21U);
    const std::uint64_t hash = CurrentRecord().hash;
    const std::vector<Switch> switches(CurrentRecord().switches, CurrentRecord().switches + CurrentRecord().switch_count);
    Plan listed = MakePlan(handoff::Strategy::kListed, Granularity::kSync, 0);
    listed.switches = switches.data();
    listed.switch_count = switches.size();
    EXPECT_EQ(OrderOf(program, listed, GetParam()), wanted);
    EXPECT_EQ(CurrentRecord().hash, hash);
  }
}

TEST_P(SchedulerTest, ASpinningThreadIsPreempted) {
  if (FinestGranularity() != Granularity::kAccess) GTEST_SKIP() << "this build has no access points";
  static std::atomic<bool> ready;
  Program program({{[] {
                     while (!ready.load()) {
                     }
                   }},
                   {[] { ready = true; }}});
  for (const handoff::Strategy strategy : kControlled) {
    for (const Granularity granularity : kAll) {
      ready = false;
      program.Run(MakePlan(strategy, granularity, 1), GetParam());
      EXPECT_TRUE(ready);
    }
  }
}

TEST_P(SchedulerTest, EndlessYieldingIsALivelock) {
  const auto wait = [] {
    for (;;) std::this_thread::yield();
  };
  Program program({{wait}, {wait}});
  EXPECT_EXIT(program.RunToFailure(MakePlan(handoff::Strategy::kRandom, Granularity::kOp, 1), GetParam()),
              testing::ExitedWithCode(3), "expected every operation to end");
}

// By default, which is what a pilot run and `listed` without switches do, and under each strategy.
TEST_P(SchedulerTest, ThreadsThatYieldLetTheOneRunThatTheyWaitFor) {
  static std::atomic<bool> ready;
  const auto wait = [] {
    while (!ready.load()) std::this_thread::yield();
  };
  for (int last = 0; last < 4; ++last) {
    Program::Threads threads(4, {wait});
    threads[static_cast<std::size_t>(last)] = {[] { ready = true; }};
    Program program(std::move(threads));
    for (const handoff::Strategy strategy : kControlled) {
      ready = false;
      program.Run(MakePlan(strategy, Granularity::kSync, 1), GetParam());
      EXPECT_TRUE(ready);
    }
  }
}

TEST_P(SchedulerTest, FreeThreadsRunToTheirEnd) {
  static std::atomic<int> count;
  count = 0;
  const auto add = [] { ++count; };
  Program program({{add, add}, {add}, {add}});
  program.Run(MakePlan(handoff::Strategy::kFree, Granularity::kOp, 0), GetParam());
  EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace handoff::schedule
