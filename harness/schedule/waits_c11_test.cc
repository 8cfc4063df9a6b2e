// C11's threads and locks, in every way there is to schedule them.
#include <gtest/gtest.h>
#include <threads.h>

#include "harness/schedule/waits_for_test.h"

namespace handoff::schedule {
namespace {

INSTANTIATE_TEST_SUITE_P(Carriers, WaitsTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

mtx_t mutex;
cnd_t condition;
int count;  // plain: only the mutex orders it, so that a sanitizer that does not see it reports a race

TEST_P(WaitsTest, LocksAndConditionsAreSeen) {
  ASSERT_EQ(mtx_init(&mutex, mtx_timed), thrd_success);
  ASSERT_EQ(cnd_init(&condition), thrd_success);
  const auto wait = [] {
    EXPECT_EQ(mtx_lock(&mutex), thrd_success);
    while (count == 0) EXPECT_EQ(cnd_wait(&condition, &mutex), thrd_success);
    ++count;
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  };
  const auto signal = [] {
    while (mtx_trylock(&mutex) != thrd_success) thrd_yield();
    ++count;
    EXPECT_EQ(cnd_broadcast(&condition), thrd_success);
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
    timespec limit;
    timespec_get(&limit, TIME_UTC);
    limit.tv_sec += 1000;
    for (int result = thrd_timedout; result != thrd_success;) result = mtx_timedlock(&mutex, &limit);
    EXPECT_EQ(cnd_signal(&condition), thrd_success);
    ++count;
    EXPECT_EQ(mtx_unlock(&mutex), thrd_success);
  };
  RunAll({{wait}, {signal}}, [] { count = 0; }, [] { EXPECT_EQ(count, 3); });
  ExpectFailure({{[] {
                  mtx_lock(&mutex);
                  cnd_wait(&condition, &mutex);
                }}},
                "A waits for condition variable #2");
  cnd_destroy(&condition);
  mtx_destroy(&mutex);
}

TEST_P(WaitsTest, ThreadsAreEnrolled) {
  const auto create = [] {
    count = 0;
    thrd_t thread;
    ASSERT_EQ(thrd_create(
                  &thread,
                  [](void* argument) {
                    thrd_yield();
                    EXPECT_EQ(Self(), 2);
                    *static_cast<int*>(argument) = 1;
                    if (count == 1) thrd_exit(-7);
                    return 0;
                  },
                  &count),
              thrd_success);
    int result = 0;
    EXPECT_EQ(thrd_join(thread, &result), thrd_success);
    EXPECT_EQ(result, -7);
    EXPECT_EQ(count, 1);
  };
  RunAll({{create}, {[] { thrd_yield(); }}}, [] {}, [] {});
}

TEST_P(WaitsTest, OnceIsOnce) {
  static once_flag flag;
  static bool done;
  const auto once = [] {
    call_once(&flag, [] {
      ++count;
      thrd_yield();
      done = true;
    });
    EXPECT_TRUE(done);
  };
  const auto reset = [] {
    flag = ONCE_FLAG_INIT;
    done = false;
    count = 0;
  };
  // On fibers the real call has one OS thread.
  RunAll({{once}, {once}}, reset, [] { EXPECT_EQ(count, 1); });
}

}  // namespace
}  // namespace handoff::schedule
