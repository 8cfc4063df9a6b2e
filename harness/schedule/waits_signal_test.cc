// Signals between the threads of a program. The receiver is a created thread, which has an OS thread of its own on every carrier.
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>

#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/waits_for_test.h"

namespace handoff::schedule {
namespace {

std::atomic<int> handled;
std::atomic<int> handled_by;
std::function<void()> in_handler;

void Install(int flags) {
  struct sigaction action = {};
  action.sa_flags = flags;
  action.sa_handler = [](int) {
    handled_by = Self();
    if (in_handler) in_handler();
    ++handled;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
}

void BlockUsr1() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
}

sigset_t OnlyUsr1() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return set;
}

class SignalTest : public WaitsTest {
 protected:
  void SetUp() override {
    handled = 0;
    handled_by = -1;
    in_handler = nullptr;
    ended = 0;
  }
  // Signals `wait`, on a thread of its own, until it says that it has ended; another thread of the program runs beside it.
  void Interrupt(const std::function<void()>& wait) {
    const auto program = [&] {
      std::thread waits([&] {
        wait();
        ended = 1;
      });
      while (ended == 0) {
        pthread_kill(waits.native_handle(), SIGUSR1);
        std::this_thread::yield();
      }
      waits.join();
    };
    RunAll({{program}, {[] { std::this_thread::yield(); }}}, [] { ended = 0; }, [] { EXPECT_EQ(ended, 1); });
    EXPECT_GT(handled, 0);
  }
  static std::atomic<int> ended;
};
std::atomic<int> SignalTest::ended;

INSTANTIATE_TEST_SUITE_P(Carriers, SignalTest, testing::Values(Carrier::kFiber, Carrier::kThread), CarrierName);

// The post of a handler wakes who waits for it in the schedule: the handler has the baton.
TEST_P(SignalTest, AHandlerTakesItsTurn) {
  static sem_t posted;
  static sem_t stop;
  Install(SA_RESTART);
  in_handler = [] { sem_post(&posted); };
  const auto send = [] {
    std::thread receives([] { EXPECT_EQ(sem_wait(&stop), 0); });
    EXPECT_EQ(pthread_kill(receives.native_handle(), SIGUSR1), 0);
    EXPECT_EQ(sem_wait(&posted), 0);
    sem_post(&stop);
    receives.join();
  };
  const auto reset = [] {
    sem_init(&posted, 0, 0);
    sem_init(&stop, 0, 0);
    handled = 0;
    handled_by = -1;
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, reset, [] {
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(handled_by, 2);
  });
}

TEST_P(SignalTest, EndsASemaphoresWait) {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  Install(0);
  Interrupt([] {
    EXPECT_EQ(sem_wait(&semaphore), -1);
    EXPECT_EQ(errno, EINTR);
  });
}

TEST_P(SignalTest, EndsAFutexsWait) {
  static std::uint32_t word;
  Install(0);
  Interrupt([] {
    EXPECT_EQ(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0), -1);
    EXPECT_EQ(errno, EINTR);
  });
}

// A sleep is not begun again, whatever the handler's flags say; what is left of it is told.
TEST_P(SignalTest, EndsASleep) {
  Install(SA_RESTART);
  Interrupt([] {
    timespec left = {.tv_sec = -1, .tv_nsec = 0};
    const timespec time = {.tv_sec = 1000, .tv_nsec = 0};
    while (nanosleep(&time, &left) == 0) {
    }
    EXPECT_EQ(errno, EINTR);
    EXPECT_GE(left.tv_sec, 0);
    EXPECT_LE(left.tv_sec, 1000);
  });
}

// It stays pending, and the wait goes on.
TEST_P(SignalTest, ABlockedOneEndsNothing) {
  static sem_t semaphore;
  Install(0);
  const auto send = [] {
    std::thread receives([] {
      BlockUsr1();
      EXPECT_EQ(sem_wait(&semaphore), 0);
      const timespec time = {.tv_sec = 1, .tv_nsec = 0};
      EXPECT_EQ(nanosleep(&time, nullptr), 0);
    });
    std::this_thread::yield();
    pthread_kill(receives.native_handle(), SIGUSR1);
    sem_post(&semaphore);
    receives.join();
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, [] { sem_init(&semaphore, 0, 0); }, [] {});
}

// Locks, conditions, barriers and joins are waited for as before.
TEST_P(SignalTest, OtherWaitsGoOn) {
  static std::mutex mutex;
  static std::condition_variable condition;
  static bool go;
  static pthread_barrier_t barrier;
  static int inside;
  static int most;
  static int passed;
  Install(0);
  in_handler = [] { std::this_thread::yield(); };
  const auto wait = [] {
    {
      const std::scoped_lock lock(mutex);
      most = std::max(most, ++inside);
      std::this_thread::yield();
      --inside;
    }
    {
      std::unique_lock lock(mutex);
      condition.wait(lock, [] { return go; });
    }
    pthread_barrier_wait(&barrier);
    ++passed;
    std::thread([] { std::this_thread::yield(); }).join();
  };
  const auto send = [wait] {
    std::thread receives(wait);
    {
      const std::scoped_lock lock(mutex);
      most = std::max(most, ++inside);
      pthread_kill(receives.native_handle(), SIGUSR1);
      std::this_thread::yield();
      --inside;
    }
    pthread_kill(receives.native_handle(), SIGUSR1);
    std::this_thread::yield();
    {
      const std::scoped_lock lock(mutex);
      go = true;
    }
    condition.notify_one();
    std::this_thread::yield();
    pthread_kill(receives.native_handle(), SIGUSR1);
    std::this_thread::yield();
    EXPECT_EQ(passed, 0);
    pthread_barrier_wait(&barrier);
    pthread_kill(receives.native_handle(), SIGUSR1);
    receives.join();
  };
  pthread_barrier_init(&barrier, nullptr, 2);
  const auto reset = [] {
    go = false;
    inside = most = passed = 0;
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, reset, [] {
    EXPECT_EQ(most, 1);
    EXPECT_EQ(passed, 1);
  });
  EXPECT_GT(handled, 0);
}

// By each way of sending: the waits for signals hear it, and no handler runs.
TEST_P(SignalTest, IsWaitedFor) {
  static std::atomic<long> id;
  Install(0);
  const auto receive = [] {
    BlockUsr1();
    id = syscall(SYS_gettid);
    const sigset_t set = OnlyUsr1();
    int signal = 0;
    EXPECT_EQ(sigwait(&set, &signal), 0);
    EXPECT_EQ(signal, SIGUSR1);
    siginfo_t info;
    EXPECT_EQ(sigwaitinfo(&set, &info), SIGUSR1);
    const timespec time = {.tv_sec = 1, .tv_nsec = 0};
    while (sigtimedwait(&set, nullptr, &time) < 0) EXPECT_EQ(errno, EAGAIN);
    id = 0;
  };
  const auto send = [receive](const std::function<void(pthread_t)>& once) {
    id = -1;
    std::thread receives(receive);
    while (id == -1) std::this_thread::yield();
    while (id != 0) {
      once(receives.native_handle());
      std::this_thread::yield();
    }
    receives.join();
  };
  const auto all = [send] {
    send([](pthread_t receiver) { pthread_kill(receiver, SIGUSR1); });
    send([](pthread_t) {
      if (const auto to = static_cast<pid_t>(id.load()); to > 0) tgkill(getpid(), to, SIGUSR1);
    });
    send([](pthread_t) {
      if (const long to = id; to > 0) syscall(SYS_tgkill, getpid(), to, SIGUSR1);
    });
  };
  RunAll({{all}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
  EXPECT_EQ(handled, 0);
}

TEST_P(SignalTest, EndsASuspension) {
  Install(SA_RESTART);
  Interrupt([] {
    BlockUsr1();
    sigset_t none;
    sigemptyset(&none);
    const int before = handled;
    EXPECT_EQ(sigsuspend(&none), -1);
    EXPECT_EQ(errno, EINTR);
    EXPECT_GT(handled, before);
  });
}

// Whichever thread the kernel would choose: the caller, if it does not block the signal; else who waits for it.
TEST_P(SignalTest, GoesToTheProcess) {
  static std::atomic<bool> waits;
  Install(0);
  const auto send = [] {
    handled = 0;
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(handled_by, 0);
    waits = false;
    std::thread receives([] {
      BlockUsr1();
      const sigset_t set = OnlyUsr1();
      waits = true;
      int signal = 0;
      EXPECT_EQ(sigwait(&set, &signal), 0);
    });
    while (!waits) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // whatever the schedule, it has come to its wait
    kill(getpid(), SIGUSR1);
    receives.join();
  };
  Program program({{send}, {[] { std::this_thread::yield(); }}});
  program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, 1), GetParam());
}

// All of the program's threads that could hear it block it, but for one.
TEST_P(SignalTest, GoesToWhoDoesNotBlockIt) {
  static sem_t posted;
  static std::atomic<bool> runs;
  Install(SA_RESTART);
  in_handler = [] { sem_post(&posted); };
  const auto send = [] {
    runs = false;
    std::thread receives([] {
      runs = true;
      EXPECT_EQ(sem_wait(&posted), 0);
    });
    std::thread sends([] {
      BlockUsr1();
      while (!runs) std::this_thread::yield();
      EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    });
    receives.join();
    sends.join();
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, [] { sem_init(&posted, 0, 0); }, [] {});
}

// Nobody of the run can send it, but a child does: no deadlock.
TEST_P(SignalTest, ComesFromOutside) {
  Install(0);
  const auto wait = [] {
    std::thread receives([] {
      BlockUsr1();
      const long process = getpid();
      const long thread = syscall(SYS_gettid);
      const pid_t child = fork();
      if (child == 0) {
        usleep(1000);
        RawSyscall(SYS_tgkill, process, thread, SIGUSR1);
        _exit(0);
      }
      const sigset_t set = OnlyUsr1();
      int signal = 0;
      EXPECT_EQ(sigwait(&set, &signal), 0);
      waitpid(child, nullptr, 0);
    });
    receives.join();
  };
  Program program({{wait}, {[] { std::this_thread::yield(); }}});
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
  }
}

// While its handler runs a signal is blocked, to ThreadSanitizer all are: what comes then must not be handled between the look at
// a semaphore or a mutex and the wait for it.
TEST_P(SignalTest, ComesWhileAnotherIsHandled) {
  static sem_t semaphore;
  static std::mutex mutex;
  static int inside;
  for (const int flags : {0, SA_RESTART}) {
    Install(flags);
    in_handler = [] { std::this_thread::yield(); };
    const auto receive = [] {
      while (sem_wait(&semaphore) != 0) EXPECT_EQ(errno, EINTR);
      for (int i = 0; i < 3; ++i) {
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(++inside, 1);
        std::this_thread::yield();
        --inside;
      }
    };
    const auto send = [receive] {
      std::thread receives(receive);
      for (int i = 0; i < 3; ++i) {
        pthread_kill(receives.native_handle(), SIGUSR1);
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(++inside, 1);
        std::this_thread::yield();
        --inside;
      }
      sem_post(&semaphore);
      for (int i = 0; i < 3; ++i) pthread_kill(receives.native_handle(), SIGUSR1);
      receives.join();
    };
    const auto reset = [] {
      sem_init(&semaphore, 0, 0);
      inside = 0;
    };
    RunAll({{send}, {[] { std::this_thread::yield(); }}}, reset, [] {});
  }
}

// Those of the real-time kind queue, the others are sent or not.
TEST_P(SignalTest, QueuesInRealTime) {
  static sem_t stop;
  static std::atomic<int> times;
  sem_init(&stop, 0, 0);
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) { ++times; };
  ASSERT_EQ(sigaction(SIGRTMIN + 3, &action, nullptr), 0);
  const auto send = [] {
    times = 0;
    std::thread receives([] { EXPECT_EQ(sem_wait(&stop), 0); });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pthread_kill(receives.native_handle(), SIGRTMIN + 3), 0);
    sem_post(&stop);
    receives.join();
    EXPECT_EQ(times, 5);
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
}

// A created thread that pauses is not waited for at the end of a run, and yet ends its pause.
TEST_P(SignalTest, EndsAPauseOfACreatedThread) {
  static std::atomic<bool> over;
  Install(SA_RESTART);
  const auto send = [] {
    over = false;
    std::thread pauses([] {
      EXPECT_EQ(pause(), -1);
      EXPECT_EQ(errno, EINTR);
      over = true;
    });
    while (!over) {
      pthread_kill(pauses.native_handle(), SIGUSR1);
      std::this_thread::yield();
    }
    pauses.join();
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
}

// A flag that is looked at before the pause: the signal may come in between.
TEST_P(SignalTest, ALostOneIsADeadlock) {
  static std::atomic<bool> flag;
  Install(SA_RESTART);
  in_handler = [] { flag = true; };
  ExpectFailure({{[] {
                  flag = false;
                  std::thread waits([] {
                    if (!flag) pause();
                  });
                  pthread_kill(waits.native_handle(), SIGUSR1);
                  waits.join();
                }}},
                "waits for the end of B");
  ExpectFailure({{[] { poll(nullptr, 0, -1); }}}, "A waits for signal #1, which nobody sends");
}

// Two that wait for each other are stuck, whatever signals a third one hopes for.
TEST_P(SignalTest, ACycleBesideAWaitForOneIsADeadlock) {
  static std::mutex first;
  static std::mutex second;
  ExpectFailure({{[] {
                   BlockUsr1();
                   {
                     const std::scoped_lock one(first);
                     const std::scoped_lock other(second);
                   }
                   kill(getpid(), SIGUSR1);
                 }},
                 {[] {
                   BlockUsr1();
                   const std::scoped_lock one(second);
                   const std::scoped_lock other(first);
                 }},
                 {[] {
                   BlockUsr1();
                   const sigset_t set = OnlyUsr1();
                   int signal = 0;
                   sigwait(&set, &signal);
                 }}},
                "Cycle: ");
}

// With a mask of its own a wait hears what the mask lets through.
TEST_P(SignalTest, TheMaskOfAWaitHolds) {
  static std::atomic<int> other;
  Install(0);
  struct sigaction action = {};
  action.sa_handler = [](int) { ++other; };
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  const auto send = [] {
    other = 0;
    ended = 0;
    std::thread waits([] {
      BlockUsr1();
      sigset_t mask;
      sigemptyset(&mask);
      sigaddset(&mask, SIGUSR2);
      EXPECT_EQ(ppoll(nullptr, 0, nullptr, &mask), -1);
      EXPECT_EQ(errno, EINTR);
      ended = 1;
    });
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    pthread_kill(waits.native_handle(), SIGUSR2);
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    while (ended == 0) {
      pthread_kill(waits.native_handle(), SIGUSR1);
      std::this_thread::yield();
    }
    waits.join();
    EXPECT_EQ(other, 1);
  };
  RunAll({{send}, {[] { std::this_thread::yield(); }}}, [] {}, [] {});
  EXPECT_GT(handled, 0);
}

// The carrier of a thread that has ended waits for the next run: nothing is to happen there.
TEST_P(SignalTest, NobodyHearsItInTheEnd) {
  if (GetParam() == Carrier::kFiber) GTEST_SKIP() << "fibers share one OS thread";
  static std::atomic<unsigned long> handle;
  static std::atomic<long> id;
  Install(0);
  const auto end = [] {
    id = syscall(SYS_gettid);
    handle = pthread_self();
  };
  const auto send = [] {
    while (handle == 0) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // whatever the schedule, it has ended
    EXPECT_EQ(pthread_kill(handle, SIGUSR1), 0);
    EXPECT_EQ(tgkill(getpid(), static_cast<pid_t>(id.load()), SIGUSR1), -1);
    EXPECT_EQ(errno, ESRCH);
  };
  Program program({{end}, {send}});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    handle = 0;
    program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
  }
  EXPECT_EQ(handled, 0);
}

// Its own thread is the receiver: pause, on a thread of the program.
TEST_P(SignalTest, EndsAPause) {
  if (GetParam() == Carrier::kFiber) GTEST_SKIP() << "fibers share one OS thread, so that nobody can signal one of them";
  static std::atomic<unsigned long> paused;
  static std::atomic<bool> over;
  Install(SA_RESTART);
  const auto wait = [] {
    paused = pthread_self();
    EXPECT_EQ(pause(), -1);
    EXPECT_EQ(errno, EINTR);
    over = true;
  };
  const auto send = [] {
    while (paused == 0) std::this_thread::yield();
    while (!over) {
      pthread_kill(paused, SIGUSR1);
      std::this_thread::yield();
    }
  };
  const auto reset = [] {
    paused = 0;
    over = false;
  };
  RunAll({{wait}, {send}}, reset, [] { EXPECT_TRUE(over); });
}

}  // namespace
}  // namespace handoff::schedule
