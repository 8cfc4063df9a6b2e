// What the program's threads run on: fibers of the driver's OS thread, or OS threads. Both persist from one execution to the next
// and are never destroyed (law 6).
#include <pthread.h>
#include <sched.h>
#include <ctime>

#include "harness/schedule/edges.h"
#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/signal_stack.h"
#include "harness/schedule/state.h"

namespace handoff::schedule {

// What a carrier that is handed the baton between executions is to do.
enum class Command : std::uint8_t { kRun, kFinish, kFree };

// What driver and carriers tell each other, each before it gives a word below. With external linkage, though nobody else uses it:
// of a variable that only this file can name GCC 12 concludes from Await's stores that Await leaves it alone, acquire or not, and
// reads it before the wait (ipa-reference).
Command command = Command::kRun;
long errand_thread = 0;          // the OS thread on which a carrier's Start or Finish runs; 0: none
Fiber* host_next = nullptr;      // whom the host goes on with
Fiber* fibers[kMaxThreads];      // owned by fiber.cc; null until made
bool on_fibers = false;          // this execution's carrier
long thread_ids[kMaxThreads];    // the kernel's, of OS threads; 0 where there is none
pthread_t handles[kMaxThreads];  // of the same
ThreadSet to_finish = 0;         // those that have yet to begin to finish, in this round

namespace {

char start_edge;
char end_edge;

// Futex words: 1 = go. Of a carrier, by number; of a created thread, by number (a word of its own: a carrier of the same number
// may be idle from an earlier, larger program); of the host of the fibers; of the driver.
std::uint32_t go[kMaxThreads];
std::uint32_t created_go[kMaxControlled];
std::uint32_t host_go;
std::uint32_t driver_go;

bool threads_made[kMaxThreads];

// Strategy `free`: threads that have not yet arrived at the gate, and those that have not yet ended.
std::uint32_t to_arrive;
std::uint32_t to_end;

// Until the thread is gone that handed the baton on for good: it still gives its memory back, and whoever allocates beside it
// gets other addresses each time. By its id, since of a detached thread nothing else is left to look at. Not for ever: one that
// is traced stays until its debugger has looked.
void AwaitEnd() {
  constexpr int kYields = 200;
  constexpr int kSleeps = 2000;
  const timespec sleep = {.tv_sec = 0, .tv_nsec = 100'000};
  const long process = RawSyscall(SYS_getpid);
  for (int i = 0; i < kYields + kSleeps && RawSyscall(SYS_tgkill, process, state.leaving, 0) == 0; ++i) {
    i < kYields ? RawSyscall(SYS_sched_yield) : RawSyscall(SYS_nanosleep, Word(&sleep), 0);
  }
  state.leaving = 0;
}

// Release on the word orders everything that the giver did before everything that the taker does: the scheduler's plain fields
// rely on it. ThreadSanitizer sees none of it, since this file is not instrumented.
void Set(std::uint32_t* word) {
  __atomic_store_n(word, 1U, __ATOMIC_RELEASE);
  FutexWake(word, 1);
}
void Await(std::uint32_t* word) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) FutexWait(word, 0);
  __atomic_store_n(word, 0U,
                   __ATOMIC_RELAXED);  // only the giver of the next turn writes it again, and it needs this thread's word first
  if (state.leaving != 0) AwaitEnd();
}

void RunControlled(int id) {
  SetSelf(id);
  Acquire(&start_edge);
  RunOperations(id);
  Release(&end_edge);
  Leave(id);
}

// Hands on to the next that has to finish, or back to the driver: a round of n takes n + 1 hand-overs, not 2 n.
void PassFinish() {
  if (to_finish == 0) {
    on_fibers ? SwitchFiber(DriverFiber()) : Set(&driver_go);
    return;
  }
  const int next = First(to_finish);
  to_finish &= ~Only(next);
  on_fibers ? SwitchFiber(fibers[next]) : Set(&go[next]);
}

// On a carrier, uncontrolled: `finish` for thread `id`. Those that finish are ordered one behind the other.
void RunFinish(int id) {
  Acquire(&start_edge);
  errand_thread = RawSyscall(SYS_gettid);
  state.body->finish(state.body->context, id);
  errand_thread = 0;
  Release(&start_edge);
  Release(&end_edge);
  PassFinish();
}

// One thread runs at a time, so all of them share one processor: waking a thread on another one costs ten times as much as
// changing to it on the same (an interrupt, and in a virtual machine an exit). Which processor is the kernel's choice, asked
// again now and then, since others come and go. Refusal does no harm.
constexpr int kRunsPerPlace = 1024;
constexpr std::size_t kMaskWords = 16;  // 1,024 processors

struct Processors {
  unsigned long words[kMaskWords];
};
Processors allowed;  // as the process was started
bool allowed_known = false;
int placed = -1;  // processor that the carriers share; -1: the kernel places them
int runs_since_placed = 0;

void Place(const Processors& processors) {
  RawSyscall(SYS_sched_setaffinity, 0, sizeof processors, Word(&processors));
  for (const long id : thread_ids) {
    if (id != 0) RawSyscall(SYS_sched_setaffinity, id, sizeof processors, Word(&processors));
  }
}

void PlaceAnywhere() {
  if (placed < 0) return;
  Place(allowed);
  placed = -1;
}

void PlaceTogether() {
  if (placed >= 0 && ++runs_since_placed < kRunsPerPlace) return;
  if (!allowed_known) allowed_known = RawSyscall(SYS_sched_getaffinity, 0, sizeof allowed, Word(&allowed)) > 0;
  if (!allowed_known) return;
  RawSyscall(SYS_sched_setaffinity, 0, sizeof allowed, Word(&allowed));
  RawSyscall(SYS_sched_yield);  // here the kernel may move the driver to where there is room
  unsigned processor = 0;
  if (RawSyscall(SYS_getcpu, Word(&processor)) != 0 || processor >= kMaskWords * 64) return;
  Processors one{};
  one.words[processor / 64] = 1UL << (processor % 64);
  Place(one);
  placed = static_cast<int>(processor);
  runs_since_placed = 0;
}

// No control: the start edge is taken before the gate, so that nothing orders the threads behind it.
void RunFree(int id) {
  Acquire(&start_edge);
  __atomic_sub_fetch(&to_arrive, 1U, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&to_arrive, __ATOMIC_ACQUIRE) != 0) RawSyscall(SYS_sched_yield);
  for (int k = 0; k < state.operations[id]; ++k) state.body->operation(state.body->context, id, k);
  Release(&end_edge);
  if (__atomic_sub_fetch(&to_end, 1U, __ATOMIC_ACQ_REL) == 0) Set(&driver_go);
}

// With an end edge of its own: what a carrier made for itself is there for the driver after the execution, even if this program
// has no operations for it.
void Start(int id) {
  errand_thread = RawSyscall(SYS_gettid);
  if (state.body->start != nullptr) state.body->start(state.body->context, id);
  errand_thread = 0;
  Release(&end_edge);
}

void FiberMain(void* argument) {
  const int id = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  Acquire(&start_edge);
  Start(id);
  SwitchFiber(DriverFiber());
  for (;;) {
    if (command == Command::kFinish) {
      RunFinish(id);
    } else {
      RunControlled(id);  // its Leave switches away and comes back with the next command
    }
  }
}

void* ThreadMain(void* argument) {
  const int id = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  thread_ids[id] = RawSyscall(SYS_gettid);
  EnsureSignalStack(id);
  Start(id);
  Set(&driver_go);
  for (;;) {
    Await(&go[id]);
    switch (command) {
      case Command::kRun:
        RunControlled(id);
        break;
      case Command::kFree:
        RunFree(id);
        break;
      case Command::kFinish:
        RunFinish(id);
        break;
    }
  }
}

// One after another: thread states that are made at once race inside CPython (python/cpython, immortalisation at the first
// thread).
void MakeCarriers(int threads) {
  for (int id = 0; id < threads; ++id) {
    void* argument = reinterpret_cast<void*>(static_cast<std::intptr_t>(id));
    if (on_fibers) {
      if (fibers[id] != nullptr) continue;
      fibers[id] = NewFiber(FiberMain, argument);
      Release(&start_edge);
      SwitchFiber(fibers[id]);
    } else if (!threads_made[id]) {
      if (pthread_create(&handles[id], nullptr, ThreadMain, argument) != 0) {
        Fail(FailureKind::kHarness,
             "expected to create a thread for the program: pthread_create failed; raise the limit of processes");
      }
      pthread_detach(handles[id]);
      threads_made[id] = true;
      Await(&driver_go);
    }
  }
}

void Prepare(const Plan& plan, const Body& body, const int* operations) {
  state.plan = &plan;
  state.body = &body;
  state.operations = operations;
  state.count = plan.threads;
  state.alive = 0;
  state.ready = state.timed = 0;
  state.holder = state.asker = -1;
  state.tickets = 0;
  state.signals = 0;
  state.now = 0;
  state.looks = 0;
  Record& record = state.record;
  record.hash = 0xCBF29CE484222325ULL;
  record.decisions = record.accesses = 0;
  record.switch_count = record.steps_lost = record.step_count = 0;
  record.switches_lost = false;
  record.stack_count = 0;
  record.profile.steps = 0;
  for (std::uint64_t& steps : record.profile.steps_of) steps = 0;
  if (plan.pilot) state.profiler.Begin();
  ForgetObjects();
  ForgetBarriers();
  for (int i = 0; i < plan.threads; ++i) {
    Thread& thread = state.threads[i];
    thread = Thread{};
    thread.fiber = on_fibers ? fibers[i] : nullptr;
    thread.handle = on_fibers ? 0 : handles[i];
    thread.kernel_id = on_fibers ? 0 : thread_ids[i];
    state.pending[i] = 0;
    // A thread without operations has ended before it begins: there is nothing to decide about it.
    if (operations[i] > 0) {
      SetReady(i);
      ++state.alive;
    } else {
      SetDone(i);
    }
  }
}

void RunUnderControl() {
  state.strategy = &GetStrategy(state.plan->strategy);
  state.strategy->Begin(*state.plan);
  command = Command::kRun;
  const int first = FirstThread();
  state.holder = first;
  if (on_fibers) {
    SetSelf(first);
    SwitchFiber(fibers[first]);
    SetSelf(-1);
  } else {
    Hand(first);
    Await(&driver_go);
  }
}

void RunWithoutControl() {
  command = Command::kFree;
  to_arrive = to_end = static_cast<std::uint32_t>(state.plan->threads);
  for (int i = 0; i < state.plan->threads; ++i) Set(&go[i]);
  Await(&driver_go);
}

void FinishThreads() {
  const Body& body = *state.body;
  if (body.finish == nullptr || body.needs_finish == nullptr) return;
  // What one thread finishes may leave work for another: asked again after each round.
  while ((to_finish = body.needs_finish(body.context)) != 0) {
    command = Command::kFinish;
    Release(&start_edge);
    PassFinish();
    if (!on_fibers) Await(&driver_go);
    Acquire(&end_edge);
  }
}

}  // namespace

void Hand(int next) {
  if (state.threads[next].fiber != nullptr) {
    host_next = state.threads[next].fiber;
    Set(&host_go);
  } else if (state.threads[next].pause_word != nullptr) {
    Set(state.threads[next].pause_word);
  } else {
    Set(state.threads[next].created ? &created_go[next] : &go[next]);
  }
}

void ParkAt(std::uint32_t* word) { Await(word); }

void Park(int id) {
  if (state.threads[id].fiber == nullptr) {
    Await(state.threads[id].created ? &created_go[id] : &go[id]);
    return;
  }
  Await(&host_go);  // this fiber's OS thread is the host: it goes on with whichever fiber was handed the baton
  SwitchFiber(host_next);
}

long ErrandThread() { return errand_thread; }

void ReleaseEndEdge() { Release(&end_edge); }

void WakeDriver() {
  if (on_fibers) {
    host_next = DriverFiber();
    Set(&host_go);
  } else {
    Set(&driver_go);
  }
}

const Record& Run(const Plan& plan, const Body& body, Carrier carrier, const int* operations) {
  const bool free = plan.strategy == handoff::Strategy::kFree;
  on_fibers = carrier == Carrier::kFiber && !free;
  state.body = &body;
  MakeCarriers(plan.threads);
  Prepare(plan, body, operations);
  if (free) {
    PlaceAnywhere();
  } else if (!on_fibers) {
    PlaceTogether();
  }
  Release(&start_edge);
  if (free) {
    RunWithoutControl();
  } else if (state.alive > 0) {
    RunUnderControl();
  }
  Acquire(&end_edge);
  if (plan.pilot) state.profiler.Fill(state.record.profile);
  FinishThreads();
  return state.record;
}

}  // namespace handoff::schedule
