// Every blocking primitive that the scheduler models, each in an operation that uses it correctly.
//
// Operations borrow something and give it back, so no program of theirs can block for ever; a rendezvous (barrier, latch) counts
// only as the first operation of a thread, where all that take part meet before anything else. Each primitive guards an integer
// of its own: ThreadSanitizer proves that the real happens-before edges are made, End proves mutual exclusion.
#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <iterator>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {
    {"self_deadlock", "a normal mutex is locked twice by one thread", "deadlock"},
    {"recursive_unlocked_once", "a recursive mutex is locked twice and unlocked once", "deadlock"},
    {"rwlock_upgrade", "a reader asks for the write lock while it holds the read lock", "deadlock"},
    {"condition_never_signalled", "the monitor is left without a signal", "deadlock"},
    {"semaphore_never_posted", "the semaphore is taken and not given back", "deadlock"},
    {"once_needs_itself", "the routine of a pthread_once calls pthread_once on the same control", "deadlock"},
    {"static_needs_itself", "the initialiser of a function-local static enters the function again", "deadlock"},
    {"barrier_short", "the barrier expects one thread more than there are", "deadlock"},
    {"latch_short", "the latch expects one thread more than there are", "deadlock"},
    {"atomic_never_cleared", "the flag that others wait for is set and not cleared", "deadlock"},
};
// In the order of kTwins.
enum class Broken : int {
  kNothing = -1,
  kSelfDeadlock,
  kRecursiveUnlockedOnce,
  kRwlockUpgrade,
  kConditionNeverSignalled,
  kSemaphoreNeverPosted,
  kOnceNeedsItself,
  kStaticNeedsItself,
  kBarrierShort,
  kLatchShort,
  kAtomicNeverCleared,
};

// What a primitive guards.
struct Guarded {
  int value = 0;                 // plain: TSan judges whether the primitive orders its users
  std::atomic<int> touches = 0;  // relaxed: counts without ordering anybody

  // With the primitive held. The point in the middle is where others come to wait.
  void Touch() {
    const int before = value;
    HANDOFF_SYNC_POINT(this, "inside");
    value = before + 1;
    touches.fetch_add(1, std::memory_order_relaxed);
  }

  void Look() const {
    const int before = value;
    HANDOFF_SYNC_POINT(this, "inside");
    if (value != before) oracle::Fail("wrong-value", "", "A reader saw %d, then %d.", before, value);
  }

  void Check(const char* name) const {
    const int wanted = touches.load(std::memory_order_relaxed);
    if (value != wanted) oracle::Fail("wrong-value", "", "%d operations under the %s made %d.", wanted, name, value);
  }
};

// The threads that meet at a barrier or a latch: each writes its own slot before and reads all of them afterwards.
struct Meeting {
  bool present[kMaxThreads] = {};
  int expected = 0;

  void Check(const char* name) const {
    int count = 0;
    for (const bool p : present) count += p ? 1 : 0;
    if (count != expected)
      oracle::Fail("wrong-value", "", "The %s let a thread go on when %d of %d had come.", name, count, expected);
  }
};

// The primitives of one execution: made in Begin, gone after End.
struct State {
  State(Broken b, int barrier_threads, int latch_threads) : broken(b), latch(latch_threads + (b == Broken::kLatchShort ? 1 : 0)) {
    pthread_mutexattr_t recursively;
    pthread_mutexattr_init(&recursively);
    pthread_mutexattr_settype(&recursively, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, nullptr);
    pthread_mutex_init(&recursive, &recursively);
    pthread_mutexattr_destroy(&recursively);
    pthread_rwlock_init(&rwlock, nullptr);
    pthread_mutex_init(&monitor, nullptr);
    pthread_cond_init(&idle, nullptr);
    sem_init(&semaphore, 0, 1);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    at_barrier.expected = barrier_threads;
    at_latch.expected = latch_threads;
    const int count = barrier_threads + (b == Broken::kBarrierShort ? 1 : 0);
    pthread_barrier_init(&barrier, nullptr, count > 0 ? static_cast<unsigned>(count) : 1U);  // zero is not allowed
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pthread_mutex_destroy(&mutex);
    pthread_mutex_destroy(&recursive);
    pthread_rwlock_destroy(&rwlock);
    pthread_mutex_destroy(&monitor);
    pthread_cond_destroy(&idle);
    sem_destroy(&semaphore);
    pthread_spin_destroy(&spin);
    pthread_barrier_destroy(&barrier);
  }

  const Broken broken;
  pthread_mutex_t mutex;
  pthread_mutex_t recursive;
  pthread_rwlock_t rwlock;
  pthread_mutex_t monitor;
  pthread_cond_t idle;
  bool busy = false;  // guarded by monitor
  sem_t semaphore;
  pthread_spinlock_t spin;
  pthread_once_t once = PTHREAD_ONCE_INIT;
  __cxxabiv1::__guard guard = {};  // of a function-local static, as the compiler lays it out; a real one could not be reset
  pthread_barrier_t barrier;
  std::shared_mutex std_shared;
  std::mutex std_monitor;
  std::condition_variable std_idle;
  bool std_busy = false;  // guarded by std_monitor
  std::once_flag std_once;
  std::counting_semaphore<1> std_semaphore{1};
  std::latch latch;
  std::atomic<int> flag = 0;  // 1 while somebody is inside

  Guarded under_mutex, under_recursive, under_rwlock, under_monitor, under_semaphore, under_spin, under_once, under_guard;
  Guarded under_shared, under_std_monitor, under_std_once, under_std_semaphore, under_flag;
  Meeting at_barrier, at_latch;
  bool has_created[kMaxThreads] = {};  // each element touched by its own thread,
  int by_created[kMaxThreads] = {};    // and by the thread that it creates
};

// Far enough away never to pass in a run; the scheduler decides whether a timed wait times out.
timespec Deadline() {
  timespec deadline = {};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 60;
  return deadline;
}

void Mutex(State& s, int /*thread*/) {
  pthread_mutex_lock(&s.mutex);
  if (s.broken == Broken::kSelfDeadlock) pthread_mutex_lock(&s.mutex);
  s.under_mutex.Touch();
  pthread_mutex_unlock(&s.mutex);
}

void TryMutex(State& s, int /*thread*/) {
  if (pthread_mutex_trylock(&s.mutex) != 0) return;
  s.under_mutex.Touch();
  pthread_mutex_unlock(&s.mutex);
}

void TimedMutex(State& s, int /*thread*/) {
  const timespec deadline = Deadline();
  if (pthread_mutex_timedlock(&s.mutex, &deadline) != 0) return;
  s.under_mutex.Touch();
  pthread_mutex_unlock(&s.mutex);
}

void RecursiveMutex(State& s, int /*thread*/) {
  pthread_mutex_lock(&s.recursive);
  pthread_mutex_lock(&s.recursive);
  s.under_recursive.Touch();
  pthread_mutex_unlock(&s.recursive);
  if (s.broken != Broken::kRecursiveUnlockedOnce) pthread_mutex_unlock(&s.recursive);
}

void ReadLock(State& s, int /*thread*/) {
  pthread_rwlock_rdlock(&s.rwlock);
  s.under_rwlock.Look();
  if (s.broken == Broken::kRwlockUpgrade) {
    pthread_rwlock_wrlock(&s.rwlock);
    pthread_rwlock_unlock(&s.rwlock);
  }
  pthread_rwlock_unlock(&s.rwlock);
}

void WriteLock(State& s, int /*thread*/) {
  pthread_rwlock_wrlock(&s.rwlock);
  s.under_rwlock.Touch();
  pthread_rwlock_unlock(&s.rwlock);
}

void TimedReadLock(State& s, int /*thread*/) {
  const timespec deadline = Deadline();
  if (pthread_rwlock_timedrdlock(&s.rwlock, &deadline) != 0) return;
  s.under_rwlock.Look();
  pthread_rwlock_unlock(&s.rwlock);
}

void TimedWriteLock(State& s, int /*thread*/) {
  const timespec deadline = Deadline();
  if (pthread_rwlock_timedwrlock(&s.rwlock, &deadline) != 0) return;
  s.under_rwlock.Touch();
  pthread_rwlock_unlock(&s.rwlock);
}

// With s.monitor held and nobody inside; returns with it held.
void BeInside(State& s) {
  s.busy = true;
  pthread_mutex_unlock(&s.monitor);
  s.under_monitor.Touch();
  pthread_mutex_lock(&s.monitor);
  s.busy = false;
  if (s.broken != Broken::kConditionNeverSignalled) pthread_cond_signal(&s.idle);
}

void Condition(State& s, int /*thread*/) {
  pthread_mutex_lock(&s.monitor);
  while (s.busy) pthread_cond_wait(&s.idle, &s.monitor);
  BeInside(s);
  pthread_mutex_unlock(&s.monitor);
}

void TimedCondition(State& s, int /*thread*/) {
  const timespec deadline = Deadline();
  pthread_mutex_lock(&s.monitor);
  int error = 0;
  while (s.busy && error == 0) error = pthread_cond_timedwait(&s.idle, &s.monitor, &deadline);
  if (!s.busy) BeInside(s);
  pthread_mutex_unlock(&s.monitor);
}

void Semaphore(State& s, int /*thread*/) {
  sem_wait(&s.semaphore);
  s.under_semaphore.Touch();
  if (s.broken != Broken::kSemaphoreNeverPosted) sem_post(&s.semaphore);
}

void TimedSemaphore(State& s, int /*thread*/) {
  const timespec deadline = Deadline();
  if (sem_timedwait(&s.semaphore, &deadline) != 0) return;
  s.under_semaphore.Touch();
  sem_post(&s.semaphore);
}

void SpinLock(State& s, int /*thread*/) {
  pthread_spin_lock(&s.spin);
  s.under_spin.Touch();
  pthread_spin_unlock(&s.spin);
}

State* running = nullptr;  // for the routine of pthread_once, which takes no argument; written by the driver only

void RunOnce() {
  if (running->broken == Broken::kOnceNeedsItself) pthread_once(&running->once, &RunOnce);
  running->under_once.Touch();
}

void Once(State& s, int /*thread*/) {
  pthread_once(&s.once, &RunOnce);
  s.under_once.Look();
}

// What a compiler makes of a function with a static local variable.
void EnterFunctionWithStatic(State& s) {
  const auto initialised = [&s] { return __atomic_load_n(reinterpret_cast<char*>(&s.guard), __ATOMIC_ACQUIRE) != 0; };
  if (!initialised() && __cxxabiv1::__cxa_guard_acquire(&s.guard) != 0) {
    if (s.broken == Broken::kStaticNeedsItself) EnterFunctionWithStatic(s);
    s.under_guard.Touch();
    __cxxabiv1::__cxa_guard_release(&s.guard);
  }
  s.under_guard.Look();
}

void StaticLocal(State& s, int /*thread*/) { EnterFunctionWithStatic(s); }

void Barrier(State& s, int thread) {
  s.at_barrier.present[thread] = true;
  pthread_barrier_wait(&s.barrier);
  s.at_barrier.Check("barrier");
}

void SharedRead(State& s, int /*thread*/) {
  const std::shared_lock lock(s.std_shared);
  s.under_shared.Look();
}

void SharedWrite(State& s, int /*thread*/) {
  const std::unique_lock lock(s.std_shared);
  s.under_shared.Touch();
}

void StdCondition(State& s, int /*thread*/) {
  std::unique_lock lock(s.std_monitor);
  s.std_idle.wait(lock, [&s] { return !s.std_busy; });
  s.std_busy = true;
  lock.unlock();
  s.under_std_monitor.Touch();
  lock.lock();
  s.std_busy = false;
  s.std_idle.notify_one();
}

void CallOnce(State& s, int /*thread*/) {
  std::call_once(s.std_once, [&s] { s.under_std_once.Touch(); });
  s.under_std_once.Look();
}

// Not by acquire(): that of libstdc++ can sleep for ever when the count goes down and up again between its load and its wait
// (gcc.gnu.org bug 104928). The scheduler finds it within seconds; a safe canary must not be reported.
void StdSemaphore(State& s, int /*thread*/) {
  HANDOFF_SYNC_POINT(&s.std_semaphore, "acquire semaphore");
  while (!s.std_semaphore.try_acquire()) sched_yield();
  s.under_std_semaphore.Touch();
  HANDOFF_SYNC_POINT(&s.std_semaphore, "release semaphore");
  s.std_semaphore.release();
}

void Latch(State& s, int thread) {
  s.at_latch.present[thread] = true;
  HANDOFF_SYNC_POINT(&s.latch, "arrive at latch");
  s.latch.arrive_and_wait();
  s.at_latch.Check("latch");
}

void AtomicWait(State& s, int /*thread*/) {
  HANDOFF_SYNC_POINT(&s.flag, "set flag");
  while (s.flag.exchange(1, std::memory_order_acquire) != 0) s.flag.wait(1);
  s.under_flag.Touch();
  if (s.broken == Broken::kAtomicNeverCleared) return;
  HANDOFF_SYNC_POINT(&s.flag, "clear flag");
  s.flag.store(0, std::memory_order_release);
  s.flag.notify_one();
}

// One each: the scheduler numbers sixteen threads in all.
void CreateAndJoin(State& s, int thread) {
  if (s.has_created[thread]) return;
  s.has_created[thread] = true;
  s.by_created[thread] = 1;
  pthread_t created;
  const auto routine = [](void* value) -> void* {
    *static_cast<int*>(value) += 1;
    return value;
  };
  if (pthread_create(&created, nullptr, routine, &s.by_created[thread]) != 0) return;
  pthread_join(created, nullptr);
  if (s.by_created[thread] != 2) oracle::Fail("wrong-value", "", "A joined thread left %d instead of 2.", s.by_created[thread]);
}

void Yield(State& /*s*/, int /*thread*/) { sched_yield(); }

void Sleep(State& /*s*/, int /*thread*/) {
  const timespec shortly = {.tv_sec = 0, .tv_nsec = 1'000};
  nanosleep(&shortly, nullptr);
}

constexpr OperationKind kOperations[] = {
    {.name = "mutex"},           {.name = "try_mutex"},
    {.name = "timed_mutex"},     {.name = "recursive_mutex"},
    {.name = "read_lock"},       {.name = "write_lock"},
    {.name = "timed_read_lock"}, {.name = "timed_write_lock"},
    {.name = "condition"},       {.name = "timed_condition"},
    {.name = "semaphore"},       {.name = "timed_semaphore"},
    {.name = "spin_lock"},       {.name = "once"},
    {.name = "static_local"},    {.name = "barrier"},
    {.name = "shared_read"},     {.name = "shared_write"},
    {.name = "std_condition"},   {.name = "call_once"},
    {.name = "std_semaphore"},   {.name = "latch"},
    {.name = "atomic_wait"},     {.name = "yield"},
    {.name = "sleep"},           {.name = "create_and_join"},
};
// In the order of kOperations.
constexpr void (*kFunctions[])(State& s, int thread) = {
    &Mutex,          &TryMutex,   &TimedMutex,     &RecursiveMutex, &ReadLock,       &WriteLock, &TimedReadLock,
    &TimedWriteLock, &Condition,  &TimedCondition, &Semaphore,      &TimedSemaphore, &SpinLock,  &Once,
    &StaticLocal,    &Barrier,    &SharedRead,     &SharedWrite,    &StdCondition,   &CallOnce,  &StdSemaphore,
    &Latch,          &AtomicWait, &Yield,          &Sleep,          &CreateAndJoin,
};
static_assert(std::size(kFunctions) == std::size(kOperations));

class Primitives final : public Subject {
 public:
  explicit Primitives(Broken broken) : broken_(broken) {}

  void Begin(const Case& c) override {
    state_ = std::make_unique<State>(broken_, FirstOperations(c, &Barrier), FirstOperations(c, &Latch));
    running = state_.get();
    for (bool& started : started_) started = false;
  }

  void Apply(int thread, Operation operation) override {
    const auto function = kFunctions[operation.code];
    const bool first = !started_[thread];
    started_[thread] = true;
    if ((function == &Barrier || function == &Latch) && !first) return;
    function(*state_, thread);
  }

  void End() override {
    const State& s = *state_;
    s.under_mutex.Check("mutex");
    s.under_recursive.Check("recursive mutex");
    s.under_rwlock.Check("read-write lock");
    s.under_monitor.Check("condition variable");
    s.under_semaphore.Check("semaphore");
    s.under_spin.Check("spin lock");
    s.under_shared.Check("std::shared_mutex");
    s.under_std_monitor.Check("std::condition_variable");
    s.under_std_semaphore.Check("std::counting_semaphore");
    s.under_flag.Check("std::atomic::wait");
    CheckOnce(s.under_once, "pthread_once");
    CheckOnce(s.under_guard, "static local variable");
    CheckOnce(s.under_std_once, "std::call_once");
    running = nullptr;
    state_ = nullptr;
  }

 private:
  static int FirstOperations(const Case& c, void (*function)(State&, int)) {
    int count = 0;
    for (const auto& thread : c.threads) count += !thread.empty() && kFunctions[thread[0].code] == function ? 1 : 0;
    return count;
  }

  static void CheckOnce(const Guarded& guarded, const char* name) {
    if (guarded.value > 1) oracle::Fail("wrong-value", "", "The routine of the %s ran %d times.", name, guarded.value);
  }

  const Broken broken_;
  std::unique_ptr<State> state_;    // from Begin to End
  bool started_[kMaxThreads] = {};  // each element touched by its own thread only
};

}  // namespace

constinit const Canary kPrimitives = {"canary_primitives", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<Primitives>(static_cast<Broken>(twin));
                                      }};

}  // namespace handoff::canary
