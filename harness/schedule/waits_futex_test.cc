// Futexes by system call, the ways to sleep, and signals that threads of a program send each other.
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <thread>

#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/waits_for_test.h"

namespace handoff::schedule {
namespace {

INSTANTIATE_TEST_SUITE_P(Carriers, WaitsTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

constexpr auto kNothing = [] {};

std::uint32_t* Word(std::atomic<std::uint32_t>& word) { return reinterpret_cast<std::uint32_t*>(&word); }

// A reader that hears one channel and a writer that hears the other, as read-write locks are made of.
TEST_P(WaitsTest, AWakeIsHeardOnItsChannelOnly) {
  static std::atomic<std::uint32_t> word;
  static std::atomic<int> waiting;
  static std::atomic<int> writers;
  constexpr std::uint32_t kReader = 1;
  constexpr std::uint32_t kWriter = 2;
  const auto wait = [](std::uint32_t channel) {
    ++waiting;
    EXPECT_EQ(syscall(SYS_futex, Word(word), FUTEX_WAIT_BITSET_PRIVATE, 0, nullptr, nullptr, channel), 0);
    if (channel == kWriter) ++writers;
  };
  const auto wake = [] {
    while (waiting < 2) std::this_thread::yield();
    while (syscall(SYS_futex, Word(word), FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr, kWriter) == 0)
      std::this_thread::yield();
    while (writers == 0) std::this_thread::yield();
    word = 1;
    syscall(SYS_futex, Word(word), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, kReader);
    EXPECT_EQ(syscall(SYS_futex, Word(word), FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr, 0), -1);
    EXPECT_EQ(errno, EINVAL);
  };
  const auto reset = [] {
    word = 0;
    waiting = 0;
    writers = 0;
  };
  // The reader, the longer waiter, may find the word changed before it waits.
  const auto read = [] {
    ++waiting;
    syscall(SYS_futex, Word(word), FUTEX_WAIT_BITSET_PRIVATE, 0, nullptr, nullptr, kReader);
  };
  RunAll({{read}, {[=] { wait(kWriter); }}, {wake}}, reset, [] { EXPECT_EQ(writers, 1); });
}

TEST_P(WaitsTest, WhoIsRequeuedWaitsForTheOtherWord) {
  static std::atomic<std::uint32_t> first;
  static std::atomic<std::uint32_t> second;
  static std::atomic<int> waiting;
  static std::atomic<int> woken;
  const auto wait = [] {
    ++waiting;
    while (syscall(SYS_futex, Word(first), FUTEX_WAIT_PRIVATE, 0, nullptr) != 0) {
    }
    ++woken;
  };
  const auto requeue = [] {
    while (waiting < 2) std::this_thread::yield();
    EXPECT_EQ(syscall(SYS_futex, Word(first), FUTEX_CMP_REQUEUE_PRIVATE, 0, 2, Word(second), 7), -1);
    EXPECT_EQ(errno, EAGAIN);
    for (long moved = 0; moved < 2;) {
      moved += syscall(SYS_futex, Word(first), FUTEX_CMP_REQUEUE_PRIVATE, 0, 2, Word(second), 0);
      std::this_thread::yield();
    }
    EXPECT_EQ(woken, 0);
    EXPECT_EQ(syscall(SYS_futex, Word(first), FUTEX_WAKE_PRIVATE, 2), 0) << "nobody waits here any more";
    EXPECT_EQ(syscall(SYS_futex, Word(second), FUTEX_REQUEUE_PRIVATE, 1, 1, Word(first), 0), 2);
    EXPECT_EQ(syscall(SYS_futex, Word(first), FUTEX_WAKE_PRIVATE, 2), 1);
  };
  const auto reset = [] {
    waiting = 0;
    woken = 0;
  };
  RunAll({{wait}, {wait}, {requeue}}, reset, [] { EXPECT_EQ(woken, 2); });
}

TEST_P(WaitsTest, EachWayToSleepLetsTheOthersGoOn) {
  static std::atomic<bool> done;
  const auto sleep = [] {
    const timespec time = {.tv_sec = 0, .tv_nsec = 1'000'000};
    while (!done) {
      EXPECT_EQ(ppoll(nullptr, 0, &time, nullptr), 0);
      EXPECT_EQ(pselect(0, nullptr, nullptr, nullptr, &time, nullptr), 0);
      EXPECT_EQ(thrd_sleep(&time, nullptr), 0);
      thrd_yield();
      EXPECT_EQ(syscall(SYS_nanosleep, &time, nullptr), 0);
      EXPECT_EQ(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr), 0);
      EXPECT_EQ(syscall(SYS_sched_yield), 0);
    }
  };
  RunAll({{sleep}, {[] { done = true; }}}, [] { done = false; }, kNothing);
}

// Of a signal from outside the schedule: the handler runs where the thread is parked, though another one has the baton, and what
// it calls must not be scheduled.
TEST_P(WaitsTest, AHandlerOnAParkedThreadTakesNoTurn) {
  static std::atomic<int> handled;
  static std::atomic<long> parked;
  static std::atomic<bool> ready;
  static std::atomic<bool> go;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    ++handled;
    sched_yield();
    ++handled;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  const auto park = [] {
    std::thread created([] {
      parked = RawSyscall(SYS_gettid);
      ready = true;
      while (!go) std::this_thread::yield();
    });
    created.join();
  };
  const auto signal = [] {
    while (!ready) std::this_thread::yield();
    RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), parked, SIGUSR1);
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
    go = true;
  };
  const auto reset = [] {
    handled = 0;
    ready = false;
    go = false;
  };
  RunAll({{park}, {signal}}, reset, [] { EXPECT_EQ(handled, 2); });
}

}  // namespace
}  // namespace handoff::schedule
