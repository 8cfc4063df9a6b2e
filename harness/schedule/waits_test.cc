// Every blocking primitive: it does its work under every strategy, and where nobody can run, the finding says who waits for whom.
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "harness/schedule/waits_for_test.h"

extern "C" const char* __tsan_default_suppressions();
// libstdc++ hands std::call_once's callable over in thread-locals, which fibers of one OS thread share.
extern "C" const char* __tsan_default_suppressions() { return "race_top:std::once_flag::_Prepare_execution\n"; }

namespace handoff::schedule {
namespace {

INSTANTIATE_TEST_SUITE_P(Carriers, WaitsTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

int counter = 0;
void Reset() { counter = 0; }

TEST_P(WaitsTest, MutexExcludes) {
  static std::mutex mutex;
  const auto add = [] {
    const std::lock_guard lock(mutex);
    counter = counter + 1;
  };
  RunAll({{add, add}, {add, add}, {add}}, Reset, [] { EXPECT_EQ(counter, 5); });
}

TEST_P(WaitsTest, RecursiveMutexMayBeTakenAgainByItsOwnerOnly) {
  static std::recursive_mutex mutex;
  const auto add = [] {
    const std::lock_guard outer(mutex);
    const int before = counter;
    const std::lock_guard inner(mutex);
    counter = before + 1;
  };
  RunAll({{add, add}, {add}, {add}}, Reset, [] { EXPECT_EQ(counter, 4); });
}

TEST_P(WaitsTest, ReadWriteLockLetsReadersTogetherAndWritersAlone) {
  static std::shared_mutex mutex;
  const auto write = [] {
    const std::unique_lock lock(mutex);
    counter = counter + 1;
  };
  const auto read = [] {
    const std::shared_lock lock(mutex);
    EXPECT_GE(counter, 0);
  };
  RunAll({{write, read}, {read, write}, {write}}, Reset, [] { EXPECT_EQ(counter, 3); });
}

TEST_P(WaitsTest, ConditionVariableWakes) {
  static std::mutex mutex;
  static std::condition_variable filled;
  const auto put = [] {
    const std::lock_guard lock(mutex);
    ++counter;
    filled.notify_one();
  };
  const auto take = [] {
    std::unique_lock lock(mutex);
    filled.wait(lock, [] { return counter > 0; });
    --counter;
  };
  RunAll({{take, take}, {put, put}}, Reset, [] { EXPECT_EQ(counter, 0); });
}

TEST_P(WaitsTest, TimedWaitsEndWithoutTime) {
  static std::mutex mutex;
  static std::condition_variable never;
  static std::timed_mutex timed;
  const auto wait = [] {
    std::unique_lock lock(mutex);
    if (never.wait_for(lock, std::chrono::hours(1)) == std::cv_status::timeout) counter = counter + 1;
  };
  const auto lock = [] {
    if (timed.try_lock_for(std::chrono::hours(1))) timed.unlock();
  };
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::hours(1)); };
  RunAll({{wait, lock}, {lock, sleep}}, Reset, [] { EXPECT_EQ(counter, 1); });
}

TEST_P(WaitsTest, TimedReadWriteLocksEndWithoutTime) {
  static std::shared_timed_mutex mutex;
  const auto hold = [] {
    const std::unique_lock lock(mutex);
    std::this_thread::sleep_for(std::chrono::hours(2));
    counter = counter + 1;
  };
  const auto read = [] {
    const std::shared_lock lock(mutex, std::chrono::hours(1));
    if (lock) {
      EXPECT_GE(counter, 0);
    }
  };
  const auto write = [] {
    const std::unique_lock lock(mutex, std::chrono::hours(1));
    if (lock) counter = counter + 1;
  };
  RunAll({{hold}, {read, write}, {write, read}}, Reset, [] { EXPECT_GE(counter, 1); });
}

TEST_P(WaitsTest, SemaphoreCounts) {
  static sem_t semaphore;
  const auto wait = [] { EXPECT_EQ(sem_wait(&semaphore), 0); };
  const auto post = [] { EXPECT_EQ(sem_post(&semaphore), 0); };
  sem_init(&semaphore, 0, 0);
  RunAll({{wait, wait}, {post}, {post}}, Reset, [] {
    int value = -1;
    sem_getvalue(&semaphore, &value);
    EXPECT_EQ(value, 0);
  });
}

TEST_P(WaitsTest, OnceRunsOnceAndStaticsAreInitialisedOnce) {
  static std::once_flag* flag = nullptr;
  const auto call = [] { std::call_once(*flag, [] { counter = counter + 1; }); };
  const auto fresh = [] {
    Reset();
    delete flag;
    flag = new std::once_flag;
  };
  RunAll({{call, call}, {call}, {call}}, fresh, [] { EXPECT_EQ(counter, 1); });
}

TEST_P(WaitsTest, OnceMayBeTriedAgainAfterAnException) {
  static std::once_flag* flag = nullptr;
  static int tries = 0;
  const auto call = [] {
    try {
      std::call_once(*flag, [] {
        if (++tries == 1) throw tries;
        counter = counter + 1;
      });
    } catch (int) {
    }
  };
  const auto fresh = [] {
    Reset();
    tries = 0;
    delete flag;
    flag = new std::once_flag;
  };
  RunAll({{call, call}, {call}}, fresh, [] { EXPECT_EQ(counter, 1); });
}

TEST_P(WaitsTest, AThreadPausedForEverTakesNoBatonOfALaterRun) {
  const auto nothing = [] {};
  Program first({{[] { std::thread([] { pause(); }).detach(); }}, {nothing}});
  Program second({{[] { std::thread([] { counter = counter + 1; }).join(); }}, {nothing}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Reset();
    first.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
    second.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
    EXPECT_EQ(counter, 1);
  }
}

TEST_P(WaitsTest, BarrierLetsAllGoTogether) {
  static pthread_barrier_t barrier;
  static std::atomic<int> arrived;
  pthread_barrier_init(&barrier, nullptr, 3);
  const auto meet = [] {
    ++arrived;
    pthread_barrier_wait(&barrier);
    EXPECT_EQ(arrived, 3);
  };
  RunAll({{meet}, {meet}, {meet}}, [] { arrived = 0; }, [] { EXPECT_EQ(arrived, 3); });
}

TEST_P(WaitsTest, AtomicWaitEndsWithNotify) {
  static std::atomic<int> flag;
  RunAll(
      {{[] { flag.wait(0); }}, {[] {
         flag = 1;
         flag.notify_all();
       }}},
      [] { flag = 0; }, [] { EXPECT_EQ(flag, 1); });
}

TEST_P(WaitsTest, SpinLockExcludes) {
  static pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  const auto add = [] {
    pthread_spin_lock(&lock);
    counter = counter + 1;
    pthread_spin_unlock(&lock);
  };
  RunAll({{add, add}, {add}, {add}}, Reset, [] { EXPECT_EQ(counter, 4); });
}

TEST_P(WaitsTest, TheNextOwnerOfARobustMutexIsToldThatTheLastOneHasEnded) {
  static std::deque<pthread_mutex_t> mutexes;  // one for each run: the last owner's end may come behind it
  static std::atomic<int> told;
  const auto reset = [] {
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutexes.emplace_back(), &robust);
    told = 0;
  };
  const auto lock = [] {
    if (pthread_mutex_lock(&mutexes.back()) == EOWNERDEAD) {
      ++told;
      pthread_mutex_consistent(&mutexes.back());
    }
    pthread_mutex_unlock(&mutexes.back());
  };
  const auto end_with_it = [] {
    std::thread([] {
      pthread_mutex_lock(&mutexes.back());
      EXPECT_EQ(pthread_mutex_trylock(&mutexes.back()), EBUSY) << "its owner is alive";
    }).join();
  };
  RunAll({{end_with_it, lock}, {lock}}, reset, [] { EXPECT_EQ(told, 1); });
}

TEST_P(WaitsTest, LocksThatNobodyHoldsMakeRoomForOthers) {
  static std::recursive_mutex mutexes[4'000];
  const auto lock_many = [] {
    for (std::recursive_mutex& mutex : mutexes) {
      const std::lock_guard first(mutex);
      const std::lock_guard again(mutex);
    }
  };
  Program program({{lock_many}, {lock_many}});
  program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kOp, 1), GetParam());
}

TEST_P(WaitsTest, AThreadMayBeAskedWhetherItHasEnded) {
  static std::atomic<bool> go;
  const auto poll = [] {
    const auto wait = [](void*) -> void* {
      while (!go) sched_yield();
      return &go;
    };
    pthread_t created{};
    ASSERT_EQ(pthread_create(&created, nullptr, wait, nullptr), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_tryjoin_np(created, &result), EBUSY);
    timespec soon = {};
    clock_gettime(CLOCK_REALTIME, &soon);
    EXPECT_EQ(pthread_timedjoin_np(created, &result, &soon), ETIMEDOUT);
    go = true;
    while (pthread_tryjoin_np(created, &result) == EBUSY) sched_yield();
    EXPECT_EQ(result, &go);
  };
  RunAll({{poll}}, [] { go = false; }, [] { EXPECT_TRUE(go); });
}

TEST_P(WaitsTest, AThreadThatIsCreatedMayEndItself) {
  static std::atomic<int> ended;
  const auto run = [] {
    const auto end = [](void*) -> void* {
      ++ended;
      pthread_exit(&ended);
    };
    pthread_t created{};
    ASSERT_EQ(pthread_create(&created, nullptr, end, nullptr), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(created, &result), 0);
    EXPECT_EQ(result, &ended);
  };
  RunAll({{run}, {run}}, [] { ended = 0; }, [] { EXPECT_EQ(ended, 2); });
}

TEST_P(WaitsTest, AThreadOfTheProgramMayNot) {
  ExpectFailure({{[] { pthread_exit(nullptr); }}}, "expected an operation to return: it called pthread_exit");
}

TEST_P(WaitsTest, AProcessThatAnOperationForksIsAlone) {
  static std::mutex mutex;
  static std::atomic<int> code;
  const auto run = [] {
    const pid_t child = fork();
    if (child == 0) {
      const std::lock_guard lock(mutex);
      std::this_thread::yield();
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    code = WEXITSTATUS(status);
  };
  const auto lock = [] { const std::lock_guard guard(mutex); };
  Program program({{run}, {lock, lock}});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    code = 0;
    // Not inside of `lock`: as without us, nobody would ever unlock the child's copy.
    program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kOp, seed), GetParam());
    EXPECT_EQ(code, 7);
  }
}

TEST_P(WaitsTest, AReaderThatReadsTwiceBehindAWaitingWriterWaitsForItself) {
  static pthread_rwlock_t lock;
  pthread_rwlockattr_t preferring;
  pthread_rwlockattr_init(&preferring);
  pthread_rwlockattr_setkind_np(&preferring, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&lock, &preferring);
  const auto read_twice = [] {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
  };
  const auto write = [] {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
  };
  ExpectFailure({{read_twice}, {write}}, "A waits for read lock #1 held by A itself. B waits for write lock #1 held by A.");
  // A writer that gives up lets them go on.
  const auto try_to_write = [] {
    timespec soon = {};
    clock_gettime(CLOCK_REALTIME, &soon);
    if (pthread_rwlock_timedwrlock(&lock, &soon) == 0) pthread_rwlock_unlock(&lock);
  };
  RunAll({{read_twice}, {try_to_write}}, Reset, [] {});
}

TEST_P(WaitsTest, TwoMutexesInTwoOrdersAreACycle) {
  static std::mutex one;
  static std::mutex two;
  ExpectFailure({{[] {
                   const std::lock_guard first(one);
                   const std::lock_guard second(two);
                 }},
                 {[] {
                   const std::lock_guard first(two);
                   const std::lock_guard second(one);
                 }}},
                "A waits for mutex #. held by B. B waits for mutex #. held by A. Cycle: A -> B -> A");
}

TEST_P(WaitsTest, AMutexTakenTwiceByOneThreadIsACycleOfOne) {
  static std::mutex mutex;
  ExpectFailure({{[] {
                  mutex.lock();
                  mutex.lock();
                }}},
                "A waits for mutex #1 held by A itself. Cycle: A -> A");
}

TEST_P(WaitsTest, AMissedSignalIsADeadlock) {
  static std::mutex mutex;
  static std::condition_variable changed;
  ExpectFailure({{[] {
                   std::unique_lock lock(mutex);
                   changed.wait(lock);
                 }},
                 {[] { changed.notify_one(); }}},
                "A waits for condition variable #., which only a signal or broadcast could end");
}

// As a thread that stops the world polls for one that waits for a native lock (numpy/numpy#28577). Without a switch B runs on
// alone, so that its rounds follow each other, and are a few rows of the trace.
TEST_P(WaitsTest, PollingForOneThatNobodyWakesIsADeadlockAndAFewRows) {
  static std::timed_mutex mutex;
  static std::condition_variable never;
  static std::mutex unused;
  const auto hold = [] {
    const std::lock_guard held(mutex);
    std::unique_lock lock(unused);
    never.wait(lock);
  };
  const auto poll = [] {
    while (!mutex.try_lock_for(std::chrono::milliseconds(1))) {
    }
  };
  Program program({{hold}, {poll}});
  EXPECT_EXIT(
      {
        SetFailureHandler([](FailureKind kind, const char* found) {
          const Record& record = CurrentRecord();
          std::uint32_t times = 0;
          for (std::size_t i = 0; i < record.step_count; ++i) times = std::max(times, record.steps[i].times);
          std::fprintf(stderr, "%s, %u times: %s\n", record.step_count < 20 ? "short" : "long", times, found);
          _exit(kind == FailureKind::kDeadlock ? 3 : 4);
        });
        program.Run(MakePlan(handoff::Strategy::kListed, Granularity::kSync, 0), GetParam());
        _exit(0);
      },
      testing::ExitedWithCode(3),
      "short, [0-9][0-9][0-9][0-9]+ times: .*B waits for mutex #. held by A, and comes back each time that it times out");
}

TEST_P(WaitsTest, TwoThatPollForEachOtherAreADeadlock) {
  static std::timed_mutex first;
  static std::timed_mutex second;
  const auto poll = [](std::timed_mutex& held, std::timed_mutex& wanted) {
    const std::lock_guard lock(held);
    while (!wanted.try_lock_for(std::chrono::milliseconds(1))) {
    }
    wanted.unlock();
  };
  ExpectFailure({{[poll] { poll(first, second); }}, {[poll] { poll(second, first); }}}, "Cycle: A -> B -> A");
}

TEST_P(WaitsTest, OneThatTimedOutOnceAndSpinsNowIsALivelock) {
  static std::timed_mutex mutex;
  static std::condition_variable never;
  static std::mutex unused;
  const auto hold = [] {
    std::unique_lock lock(unused);
    never.wait(lock);
  };
  const auto spin = [] {
    if (!mutex.try_lock_for(std::chrono::milliseconds(1))) mutex.lock();
    for (;;) std::this_thread::yield();
  };
  const auto hold_for_a_while = [] {
    const std::lock_guard lock(mutex);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  ExpectFailure({{hold}, {spin}, {hold_for_a_while}}, "expected every operation to end");
}

TEST_P(WaitsTest, RoundsOfDifferentOperationsAreDifferentRows) {
  static std::timed_mutex mutexes[2];  // each stays locked
  std::timed_mutex& mutex = mutexes[GetParam() == Carrier::kFiber ? 0 : 1];
  const auto hold = [&] { mutex.lock(); };
  const auto poll = [&] { EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds(1))); };
  Program program({{hold}, {poll, poll, poll}});
  program.Run(MakePlan(handoff::Strategy::kListed, Granularity::kSync, 0), GetParam());
  std::size_t timeouts = 0;
  for (std::size_t i = 0; i < CurrentRecord().step_count; ++i) {
    if (CurrentRecord().steps[i].kind == StepKind::kTimeout) ++timeouts;
  }
  EXPECT_EQ(timeouts, 3U);
}

TEST_P(WaitsTest, UpgradingAReadLockWaitsForItself) {
  static std::shared_mutex mutex;
  ExpectFailure({{[] {
                  mutex.lock_shared();
                  mutex.lock();
                }}},
                "A waits for write lock #1 held by A itself");
}

// Readers come and go in any order: who took the lock last may be gone.
TEST_P(WaitsTest, AReaderThatIsLeftIsNamed) {
  static std::shared_mutex mutex;
  static std::mutex other;
  static std::atomic<bool> reads;
  reads = false;
  const auto read = [] {
    const std::shared_lock lock(mutex);
    reads = true;
    {
      const std::lock_guard waits(other);
    }
    reads = false;
  };
  const auto read_then_write = [] {
    const std::lock_guard held(other);
    if (!reads) return;
    {
      const std::shared_lock too(mutex);
    }
    const std::lock_guard write(mutex);
  };
  ExpectFailure({{read}, {read_then_write}}, "B waits for write lock #. held by A. Cycle: A -> B -> A");
}

TEST_P(WaitsTest, AnIncompleteBarrierIsADeadlock) {
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 3);
  const auto meet = [] { pthread_barrier_wait(&barrier); };
  ExpectFailure({{meet}, {meet}}, "waits for barrier #1, which only the missing threads could end");
}

TEST_P(WaitsTest, JoiningAThreadThatWaitsForItsCreatorIsACycle) {
  static std::mutex mutex;
  ExpectFailure({{[] {
                  const std::lock_guard lock(mutex);
                  std::thread child([] { const std::lock_guard inner(mutex); });
                  child.join();
                }}},
                "A waits for the end of B. B waits for mutex #. held by A. Cycle: A -> B -> A");
}

}  // namespace
}  // namespace handoff::schedule
