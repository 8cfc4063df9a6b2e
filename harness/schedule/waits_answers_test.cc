// Where glibc answers instead of waiting, so does what stands in for it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <thread>

#include "harness/schedule/waits_for_test.h"

namespace handoff::schedule {
namespace {

INSTANTIATE_TEST_SUITE_P(Carriers, WaitsTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

TEST_P(WaitsTest, AWriterThatLocksAgainIsTold) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto write = [] {
    EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
    std::this_thread::yield();
    EXPECT_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
    EXPECT_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
    EXPECT_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
  };
  RunAll({{write}, {write}}, [] {}, [] {});
}

// A limit with nanoseconds that are none is refused where the caller would have to wait, as POSIX has it.
TEST_P(WaitsTest, ABadLimitIsRefused) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const auto wait = [] {
    const timespec bad = {.tv_sec = 2'000'000'000, .tv_nsec = 1'000'000'000};
    EXPECT_EQ(sem_timedwait(&semaphore, &bad), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &bad), EINVAL);
    std::thread waits([&] {
      EXPECT_EQ(pthread_mutex_timedlock(&mutex, &bad), EINVAL);
      EXPECT_EQ(pthread_rwlock_timedrdlock(&lock, &bad), EINVAL);
      EXPECT_EQ(nanosleep(&bad, nullptr), -1);
      EXPECT_EQ(errno, EINVAL);
      EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &bad, nullptr), EINVAL);
    });
    waits.join();
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
  };
  RunAll({{wait}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
}

TEST_P(WaitsTest, AJoinByAClockTimesOut) {
  const auto join = [] {
    static std::mutex mutex;
    mutex.lock();
    pthread_t created;
    ASSERT_EQ(pthread_create(
                  &created, nullptr,
                  [](void*) -> void* {
                    const std::scoped_lock lock(mutex);
                    return &mutex;
                  },
                  nullptr),
              0);
    timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 1;
    void* result = nullptr;
    EXPECT_EQ(pthread_clockjoin_np(created, &result, CLOCK_MONOTONIC, &limit), ETIMEDOUT);
    mutex.unlock();
    EXPECT_EQ(pthread_clockjoin_np(created, &result, CLOCK_MONOTONIC, nullptr), 0);
    EXPECT_EQ(result, &mutex);
  };
  RunAll({{join}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
}

}  // namespace
}  // namespace handoff::schedule
