// Who decides at a point. One strategy a file; each cites its source and keeps its state in one static object.
//
// Compiled without sanitizers, coverage and weak symbols, like everything in this folder: what synchronises here must stay
// invisible to ThreadSanitizer. Called by the holder of the baton only, so nothing in here needs a lock.
#pragma once

#include <cstdint>

#include "harness/schedule/plan.h"

namespace handoff::schedule {

enum class PointKind : std::uint8_t {
  kGate,    // before anyone runs: who goes first
  kOp,      // between two operations of the current thread
  kSync,    // before a synchronising step
  kAccess,  // before a memory access: the distance asked for with NextAccess is used up
  kWait,    // the current thread cannot go on: it waits for somebody
  kEnd,     // the current thread has ended
  kYield,   // the current thread called sched_yield, or sleeps: it can go on, but waits for others in all likelihood
  kSpin,    // the current thread made a great many accesses without a point: it spins, in all likelihood
};

// What a strategy sees. `ready` and `timed` are disjoint and never both empty. Strategies are asked at every point, also where
// there is nothing to choose, since some of them count; and no two decisions of a thread have the same `at`, else `listed` could
// not tell them apart (so a wait and a yield add one to `at.sync`, and a thread that has ended stands behind its last operation).
struct Decision {
  PointKind kind = PointKind::kGate;
  int current = -1;           // who stands at the point; -1 at the gate
  bool can_continue = false;  // `current` is one of `ready`
  ThreadSet ready = 0;        // can run
  ThreadSet timed = 0;        // wait with a time limit: chosen, they time out. Priority strategies choose them last
  Position at = {};           // where `current` stands
  std::uint64_t step = 0;     // points of the plan's granularity up to this one, all threads; an access counts as one
  // Per controlled thread, the object its next step touches (numbers from 1 in order of first appearance), 0 if unknown.
  // Borrowed.
  const std::uint32_t* pending = nullptr;
};

// "No point at an access": the thread runs on to its next `sync` or `op` point.
inline constexpr std::int64_t kNever = INT64_MAX;

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  // Forgets the last run. `plan` is borrowed until the next Begin.
  virtual void Begin(const Plan& plan) = 0;
  // Thread `thread` was created by a controlled thread and can run from now on. The program's own threads are there from the
  // start. Defined out of line: the virtual table belongs to strategy.cc and is not weak.
  virtual void Created(int thread);
  // A member of `ready` or of `timed`.
  virtual int Choose(const Decision& decision) = 0;
  // After how many accesses of `thread` (at least 1) Choose is asked again, or kNever. Asked at granularity `access` whenever
  // `thread` goes on from a point and somebody else can run, and when it makes somebody ready while it is the only one who can:
  // nobody stops at an access where there is no choice. `at` and `step` are where it stands.
  virtual std::int64_t NextAccess(int thread, const Position& at, std::uint64_t step) = 0;

 protected:
  // Trivial: the objects live as long as the process, and a parked thread must never meet a destroyed one at exit.
  ~Strategy() = default;
};

// The strategy's one object. `kFree` has none, since nobody decides there: asking for it is a bug and traps.
Strategy& GetStrategy(handoff::Strategy which);

// Whether Plan::profile must be filled in (PCT, SURW).
bool NeedsProfile(handoff::Strategy which);

// One object each, defined in the file of its name.
Strategy& BytesStrategy();
Strategy& RandomStrategy();
Strategy& PctStrategy();
Strategy& PosStrategy();
Strategy& SurwStrategy();
Strategy& ListedStrategy();

// The first member of a set that is not empty.
static inline int First(ThreadSet set) { return __builtin_ctz(set); }
// The member of a set, which is not empty, with the highest priority; of equals the first. `priorities` are by thread.
static inline int Highest(const std::int64_t* priorities, ThreadSet set) {
  int best = First(set);
  for (ThreadSet rest = set & (set - 1); rest != 0; rest &= rest - 1) {
    if (priorities[First(rest)] > priorities[best]) best = First(rest);
  }
  return best;
}
// Those who can run besides the one who stands at the point.
static inline ThreadSet Others(const Decision& d) { return d.current >= 0 ? d.ready & ~Only(d.current) : d.ready; }
// Whether the current thread asks, or seems to ask, for somebody else to run.
static inline bool Yields(const Decision& d) { return d.kind == PointKind::kYield || d.kind == PointKind::kSpin; }
// The first member of a set, which is not empty, behind `thread` in the circle.
static inline int NextInCircle(ThreadSet set, int thread) {
  const ThreadSet behind = set & ~(Only(thread) | (Only(thread) - 1));
  return First(behind != 0 ? behind : set);
}
// The default at every point, from which `listed` switches differ: go on; else the first thread that can run; else the first that
// can time out. Threads that yield do so in turn: two of them that wait for a third must not keep it from running. One that
// yields although nobody else can run waits for time to pass, so somebody times out before it goes on.
static inline int DefaultChoice(const Decision& d) {
  if (d.can_continue && !Yields(d)) return d.current;
  if (Others(d) != 0) return Yields(d) ? NextInCircle(Others(d), d.current) : First(Others(d));
  return d.timed != 0 ? First(d.timed) : d.current;
}

}  // namespace handoff::schedule
