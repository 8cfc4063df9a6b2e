// The baton: the right to run. One controlled thread holds it; everybody else is parked.
//
// Compiled without sanitizers, coverage and weak symbols. Parking is a raw futex (threads) or a change of stacks (fibers),
// neither of which ThreadSanitizer sees as synchronisation, so it judges the subject as if nobody had ordered its threads. The
// only edges of ours run from the driver to each thread at the start of an execution and back at its end (edges.h); what stands
// in for a primitive makes the edges of that primitive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/schedule/plan.h"
#include "harness/schedule/record.h"

namespace handoff::schedule {

// What the program's threads run on. Fibers share the driver's OS thread: for subjects in pure C++ that use no thread-local state
// of their own. Threads serve everything else.
enum class Carrier : std::uint8_t { kFiber, kThread };

// What the threads do. Functions are called with `context` and must not throw. Owned by the caller, alive for the whole process
// (carriers keep it).
struct Body {
  void* context = nullptr;
  // Once per carrier and process, on the carrier itself, one carrier after another, uncontrolled. May be null.
  void (*start)(void* context, int thread) = nullptr;
  // Operation `index` of `thread`, controlled.
  void (*operation)(void* context, int thread, int index) = nullptr;
  // When all operations have ended, uncontrolled: on each of the program's carriers that `needs_finish` names, one after another,
  // again until it names nobody. May be null.
  void (*finish)(void* context, int thread) = nullptr;
  ThreadSet (*needs_finish)(void* context) = nullptr;
};

// Something the scheduler itself found wrong. The handler is called on the thread that noticed, with the baton held; it must not
// return.
enum class FailureKind : std::uint8_t { kDeadlock, kLivelock, kHarness };
using FailureHandler = void (*)(FailureKind kind, const char* text);
void SetFailureHandler(FailureHandler handler);

// Points (waits, yields and forced pre-emptions included, access points not) inside one operation before it is called a livelock.
// The largest operation of ours that ends makes a few hundred.
inline constexpr std::uint32_t kMaxPointsPerOperation = 20'000;
// Accesses without a point after which a thread is taken for spinning and pre-empted, at every granularity (instrumented builds).
inline constexpr std::int64_t kSpinAccesses = 100'000;

// From now on each switch in the middle of an operation keeps its place (Record::places), and each acquisition of a lock its
// stack, so that a deadlock tells where what is waited for was taken. It takes microseconds each time: for processes that run a
// case once. Any thread, while no execution runs.
void KeepStacks();

// Keeps the calling thread's stack in the record, if it is a controlled one: for who notices a failure in the middle of an
// operation.
void KeepOwnStack();

// Called by the handler of fatal signals: if the calling thread faulted while the scheduler read its stack, goes back there and
// does not return.
void LeaveUnwinder();

// Runs one execution of a program with `operations[t]` operations on thread t and returns when all its threads have ended. Called
// by one driver thread at a time, which is not controlled itself. The record is the scheduler's own and valid until the next Run;
// the plan is borrowed until then.
const Record& Run(const Plan& plan, const Body& body, Carrier carrier, const int* operations);

// The number of the calling thread if it is controlled now, else -1. Any thread.
int Self();
// The kernel's number of the thread on which Body::start or Body::finish runs for a carrier, 0 if they do not. Any thread, once
// nothing goes on.
long ErrandThread();
// Where a controlled thread stands. Any thread, while it holds the baton.
Position Where(int thread);
// No points on the calling thread until the matching Resume; may be nested. For the harness's own work in the middle of an
// operation.
void Pause();
void Resume();

// While on: threads that are created outside of operations are noted, since an operation may wait for what nobody schedules; a
// deadlock says so. Driver thread.
void NoteForeignThreads(bool on);

// What the finest granularity is in this build, and why: access points need a sanitizer whose calls we own (x86-64).
Granularity FinestGranularity();

}  // namespace handoff::schedule
