// Threads that operations create, many of them; and threads that wait by asking again and again.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/schedule/waits_for_test.h"

namespace handoff::schedule {
namespace {

INSTANTIATE_TEST_SUITE_P(Carriers, WaitsTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

constexpr auto kNothing = [] {};

// More threads one after another than there are numbers: a joiner that was woken finds its thread's number with another one.
TEST_P(WaitsTest, AJoinIsOfOneThreadHoweverManyThereAre) {
  const auto create_and_join = [] {
    for (std::intptr_t i = 0; i < 12; ++i) {
      pthread_t created{};
      const auto give_back = [](void* argument) { return argument; };
      ASSERT_EQ(pthread_create(&created, nullptr, give_back, reinterpret_cast<void*>(i)), 0);
      void* result = nullptr;
      ASSERT_EQ(pthread_join(created, &result), 0);
      EXPECT_EQ(result, reinterpret_cast<void*>(i)) << "another thread's";
    }
  };
  RunAll({{create_and_join}, {create_and_join}}, kNothing, kNothing);
}

TEST_P(WaitsTest, AThreadThatEndedLongAgoIsJoinedWithoutWaiting) {
  const auto many = [] {
    std::vector<std::thread> early;
    for (int i = 0; i < 3; ++i) early.emplace_back(kNothing);
    for (int i = 0; i < 20; ++i) std::thread(kNothing).join();
    for (std::thread& thread : early) thread.join();
  };
  RunAll({{many}, {many}}, kNothing, kNothing);
}

TEST_P(WaitsTest, AJoinWithALimitThatIsNoneWaits) {
  const auto join = [] {
    pthread_t created{};
    const auto end = [](void*) -> void* { return nullptr; };
    ASSERT_EQ(pthread_create(&created, nullptr, end, nullptr), 0);
    EXPECT_EQ(pthread_timedjoin_np(created, nullptr, nullptr), 0);
  };
  RunAll({{join}, {join}}, kNothing, kNothing);
}

std::ptrdiff_t OsThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

// Else what it still gives back after its end is there for the next allocation, or is not: other addresses each time, and
// libstdc++ chooses what it wakes by address.
TEST_P(WaitsTest, AThreadThatHasEndedIsGoneBeforeTheNextOneRuns) {
  std::thread(kNothing).join();  // ThreadSanitizer starts one of its own beside the first
  const auto detach = [] {
    const std::ptrdiff_t before = OsThreads();
    std::thread(kNothing).detach();
    std::this_thread::sleep_for(std::chrono::seconds(1));  // by default until nobody else can run
    EXPECT_EQ(OsThreads(), before);
  };
  const auto detach_at_the_end = [] { std::thread(kNothing).detach(); };
  Program program({{detach}, {detach_at_the_end}});
  program.Run(MakePlan(handoff::Strategy::kListed, Granularity::kSync, 0), GetParam());  // makes the carriers
  const std::ptrdiff_t before = OsThreads();
  for (int i = 0; i < 50; ++i) {
    program.Run(MakePlan(handoff::Strategy::kListed, Granularity::kSync, 0), GetParam());
    ASSERT_EQ(OsThreads(), before);
  }
}

// More threads than numbers, one after another: a switch of a later bearer of a number waits for it.
TEST_P(WaitsTest, TheListOfARunWhoseNumbersAreUsedAgainReplaysIt) {
  const auto create = [] {
    for (int i = 0; i < 40; ++i) {
      std::thread created([] {
        std::this_thread::yield();
        std::this_thread::yield();
      });
      i % 2 == 0 ? created.join() : created.detach();
      std::this_thread::yield();
      if (i % 4 == 3) {
        for (int k = 0; k < 30; ++k) std::this_thread::yield();
      }
    }
  };
  Program program({{create}, {[] {
                     for (int i = 0; i < 40; ++i) std::this_thread::yield();
                   }}});
  for (const handoff::Strategy strategy : {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPos}) {
    for (const Granularity granularity : {Granularity::kOp, Granularity::kSync, Granularity::kAccess}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Record& record = program.Run(MakePlan(strategy, granularity, seed), GetParam());
        const std::uint64_t hash = record.hash;
        const std::vector<Switch> switches(record.switches, record.switches + record.switch_count);
        Plan plan = MakePlan(handoff::Strategy::kListed, granularity, seed);
        plan.switches = switches.data();
        plan.switch_count = switches.size();
        ASSERT_EQ(program.Run(plan, GetParam()).hash, hash) << kStrategyNames[static_cast<std::size_t>(strategy)] << " " << seed;
      }
    }
  }
}

TEST_P(WaitsTest, AThreadThatJoinsItselfIsTold) {
  RunAll({{[] { std::thread([] { EXPECT_EQ(pthread_join(pthread_self(), nullptr), EDEADLK); }).join(); }}}, [] {}, [] {});
}

TEST_P(WaitsTest, AWaitForAThreadThatNobodySchedulesSaysSo) {
  static std::mutex mutex;
  static std::condition_variable condition;
  static bool answered = false;
  const auto wait = [] {
    std::unique_lock lock(mutex);
    condition.wait(lock, [] { return answered; });
  };
  NoteForeignThreads(true);
  std::thread worker(kNothing);
  NoteForeignThreads(false);
  worker.join();
  ExpectFailure({{wait}}, "Begin has started threads of its own: nobody schedules those");
}

TEST_P(WaitsTest, AWaitOnARobustMutexTellsThatItsOwnerHasEnded) {
  static std::deque<pthread_mutex_t> mutexes;  // one for each run: the last owner's end may come behind it
  static pthread_cond_t condition;
  static int told = 0;
  const auto reset = [] {
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutexes.emplace_back(), &robust);
    pthread_cond_init(&condition, nullptr);
  };
  const auto wait = [] {
    pthread_mutex_t* mutex = &mutexes.back();
    ASSERT_EQ(pthread_mutex_lock(mutex), 0);
    std::thread signaller([mutex] {
      pthread_mutex_lock(mutex);
      pthread_cond_signal(&condition);
    });
    timespec later = {};
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += 1;
    EXPECT_EQ(++told % 2 == 0 ? pthread_cond_wait(&condition, mutex) : pthread_cond_timedwait(&condition, mutex, &later),
              EOWNERDEAD);
    EXPECT_EQ(pthread_mutex_consistent(mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(mutex), 0);
    signaller.join();
  };
  Program program({{wait}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    reset();
    program.Run(MakePlan(handoff::Strategy::kListed, Granularity::kSync, seed), GetParam());
  }
}

// Who asks again and again lets the others get on, by default too (no switch is listed) and where nobody is asked in between.
TEST_P(WaitsTest, WhoeverAsksAgainAndAgainGivesWay) {
  static std::mutex mutex;
  static pthread_spinlock_t spin;
  static sem_t semaphore;
  static std::atomic<bool> held;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&semaphore, 0, 0);
  const auto hold = [] {
    const std::lock_guard lock(mutex);
    pthread_spin_lock(&spin);
    held = true;
    while (held) std::this_thread::yield();
    pthread_spin_unlock(&spin);
  };
  const auto ask = [] {
    held = false;
    while (!mutex.try_lock()) {
    }
    mutex.unlock();
    while (pthread_spin_trylock(&spin) != 0) {
    }
    pthread_spin_unlock(&spin);
    while (sem_trywait(&semaphore) != 0) {
    }
  };
  const auto post = [] { sem_post(&semaphore); };
  Program program({{hold}, {ask}, {post}});
  for (const Granularity granularity : {Granularity::kOp, Granularity::kSync, Granularity::kAccess}) {
    program.Run(MakePlan(handoff::Strategy::kListed, granularity, 0), GetParam());
  }
}

TEST_P(WaitsTest, ADeadlineThatIsWaitedForByLookingAtTheClockComes) {
  const auto wait = [] {
    timespec start = {};
    ASSERT_EQ(timespec_get(&start, TIME_UTC), TIME_UTC);
    timespec now = start;
    while (now.tv_sec < start.tv_sec + 10) {
      std::this_thread::yield();
      timespec_get(&now, TIME_UTC);
    }
  };
  RunAll({{wait}, {kNothing}}, kNothing, kNothing);
}

TEST_P(WaitsTest, AWaitForNoDescriptorIsASleep) {
  static std::atomic<bool> done;
  const auto wait = [] {
    while (!done) {
      EXPECT_EQ(poll(nullptr, 0, 1), 0);
      timeval time = {.tv_sec = 0, .tv_usec = 1000};
      EXPECT_EQ(select(0, nullptr, nullptr, nullptr, &time), 0);
    }
  };
  RunAll({{wait}, {[] { done = true; }}}, [] { done = false; }, kNothing);
}

TEST_P(WaitsTest, EachClockTellsTheExecutionsTime) {
  const auto look = [] {
    timespec by_clock = {};
    timespec by_base = {};
    clock_gettime(CLOCK_REALTIME, &by_clock);
    timespec_get(&by_base, TIME_UTC);
    EXPECT_EQ(by_base.tv_sec, by_clock.tv_sec);
    EXPECT_EQ(time(nullptr), by_clock.tv_sec);
  };
  RunAll({{look}}, kNothing, kNothing);
}

}  // namespace
}  // namespace handoff::schedule
