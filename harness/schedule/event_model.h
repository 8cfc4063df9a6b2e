// An abstract machine for tests of strategies: threads are lists of events, nothing runs for real.
//
// It asks a strategy in the same way as the scheduler does (gate, points, waits, ends) and says which interleaving came out. The
// self-consistency gate for schedulers: what is derived on paper, what this machine does and what real threads do must agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/schedule/plan.h"
#include "harness/schedule/strategy.h"

namespace handoff::schedule::model {

enum class EventKind : std::uint8_t {
  kStep,       // a synchronising step on `object`, behind a `sync` point
  kAccess,     // a memory access, without a point of its own
  kLock,       // takes the mutex `object`, or waits
  kUnlock,     // gives it up and makes its waiters ready, who try again
  kWait,       // waits until the flag `object` is set
  kTimedWait,  // the same, with a time limit
  kSet,        // sets the flag `object`, for good
  kYield,
  kCreate,  // thread number `object` can run from now on
};

struct Event {
  EventKind kind = EventKind::kStep;
  std::uint32_t object = 0;
};
using Events = std::vector<Event>;

// Per thread, its operations; per operation, its events. The last `created` threads are not there from the start.
struct Program {
  std::vector<std::vector<Events>> threads;
  int created = 0;
};

// `threads` threads with `operations` operations of one step on object 1 each.
Program Operations(int threads, int operations);
// `threads` threads with one operation of `steps` steps on object 1 each.
Program Steps(int threads, int steps);
// Two to four threads with all kinds of events, a function of `seed`. May deadlock.
Program RandomProgram(std::uint64_t seed);

struct Outcome {
  std::string order;             // a letter per event in the order they happened: of its thread, small if it timed out
  std::vector<Switch> switches;  // decisions that differ from the default
  Profile profile;
  std::size_t decisions = 0;
  bool deadlock = false;
  std::string error;  // what the strategy did that it must not, empty if nothing; the run stops there
};

// Runs `program` under `plan.strategy`. `plan.threads` is filled in.
Outcome Execute(const Program& program, Plan plan);

// The profile of a run without any voluntary switch.
Profile Pilot(const Program& program, Granularity granularity);

// Whether `order` is a lost update: both threads read (their first event) before either wrote (their second).
bool LostUpdate(const std::string& order);

// How often each order (or error) came out.
using Tally = std::map<std::string, int>;
// Runs with the seeds 0, 1, ... and the pilot run's profile: the same on every machine.
Tally Sample(const Program& program, Plan plan, int runs);
double Share(const Tally& tally, bool (*bad)(const std::string& order));
// Five standard deviations of a share of `runs` independent runs whose true value is p: a correct strategy leaves them once in
// 1.7 million seeds' choices, and ours are fixed.
double FiveSigma(double p, int runs);
// Pearson's statistic against `kinds` equally likely orders, and the value that it exceeds as rarely as one side of five sigma
// (Wilson and Hilferty's approximation of the quantile).
double ChiSquare(const Tally& tally, int kinds, int runs);
double ChiSquareBound(int kinds);

}  // namespace handoff::schedule::model
