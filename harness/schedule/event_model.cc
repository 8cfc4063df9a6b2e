#include "harness/schedule/event_model.h"

#include <cctype>
#include <cmath>
#include <memory>

#include "harness/schedule/profiler.h"
#include "harness/schedule/random.h"

namespace handoff::schedule::model {

namespace {

// Far above what the programs of the tests need, so that a strategy which never lets a thread go on is noticed.
constexpr std::size_t kMaxDecisions = 100'000;
constexpr int kNobody = -1;

enum class State : std::uint8_t { kAbsent, kReady, kWaiting, kEnded };

struct Thread {
  State state = State::kReady;
  Event waits_for;         // if waiting
  bool timed_out = false;  // chosen although it was waiting
  bool at_event = false;   // the point before the next event is behind it
  std::size_t operation = 0;
  std::size_t event = 0;  // within the operation
  Position at;
  std::int64_t budget = kNever;  // accesses until the next `access` point
  bool alone = false;            // when that was set, nobody else could run
};

class Machine {
 public:
  Machine(const Program& program, const Plan& plan)
      : program_(program), plan_(plan), strategy_(GetStrategy(plan.strategy)), threads_(program.threads.size()) {
    plan_.threads = static_cast<int>(program.threads.size()) - program.created;
    for (auto t = static_cast<std::size_t>(plan_.threads); t < threads_.size(); ++t) threads_[t].state = State::kAbsent;
    profiler_->Begin();
  }

  Outcome Run() {
    strategy_.Begin(plan_);
    for (int current = Decide(PointKind::kGate, kNobody); current != kNobody;) current = Advance(current);
    profiler_->Fill(outcome_.profile);
    return outcome_;
  }

 private:
  Thread& At(int t) { return threads_[static_cast<std::size_t>(t)]; }
  const std::vector<Events>& OperationsOf(int t) const { return program_.threads[static_cast<std::size_t>(t)]; }

  // Each of these takes thread `t`, which runs, a little further and says who runs then.

  int Advance(int t) {
    Thread& thread = At(t);
    if (thread.operation == OperationsOf(t).size()) return End(t);
    const Events& events = OperationsOf(t)[thread.operation];
    if (thread.event == events.size()) return NextOperation(t);
    if (!thread.at_event) {
      thread.at_event = true;
      return ReachEvent(t, events[thread.event]);
    }
    return Perform(t, events[thread.event]);
  }

  int End(int t) {
    At(t).state = State::kEnded;
    return Decide(PointKind::kEnd, t);
  }

  int NextOperation(int t) {
    Thread& thread = At(t);
    ++thread.operation;
    thread.event = 0;
    thread.at = Position{.operation = static_cast<std::uint16_t>(thread.operation)};
    if (thread.operation == OperationsOf(t).size()) return t;
    return CountedPoint(PointKind::kOp, t, 0);
  }

  int ReachEvent(int t, const Event& event) {
    if (event.kind == EventKind::kYield) return t;
    if (event.kind == EventKind::kAccess) return ReachAccess(t);
    if (plan_.granularity == Granularity::kOp) return t;
    NextSync(t);
    return CountedPoint(PointKind::kSync, t, event.object);
  }

  int ReachAccess(int t) {
    if (plan_.granularity != Granularity::kAccess) return t;
    ++At(t).at.access;
    ++outcome_.profile.steps;
    return --At(t).budget > 0 ? t : Decide(PointKind::kAccess, t);
  }

  int Perform(int t, const Event& event) {
    switch (event.kind) {
      case EventKind::kLock:
        if (locked_[event.object]) return Wait(t, event);
        locked_[event.object] = true;
        break;
      case EventKind::kUnlock:
        locked_[event.object] = false;
        Wake(EventKind::kLock, event.object);
        break;
      case EventKind::kWait:
      case EventKind::kTimedWait:
        if (!flags_[event.object] && !At(t).timed_out) return Wait(t, event);
        break;
      case EventKind::kSet:
        flags_[event.object] = true;
        Wake(EventKind::kWait, event.object);
        Wake(EventKind::kTimedWait, event.object);
        break;
      case EventKind::kCreate:
        At(static_cast<int>(event.object)).state = State::kReady;
        strategy_.Created(static_cast<int>(event.object));
        break;
      case EventKind::kStep:
      case EventKind::kAccess:
      case EventKind::kYield:
        break;
    }
    Finish(t);
    if (event.kind != EventKind::kYield) return At(t).alone ? Arm(t) : t;
    NextSync(t);
    return Decide(PointKind::kYield, t);
  }

  void Finish(int t) {
    Thread& thread = At(t);
    const char name = ThreadName(t);
    outcome_.order += thread.timed_out ? static_cast<char>(std::tolower(name)) : name;
    thread.timed_out = false;
    thread.at_event = false;
    ++thread.event;
  }

  int Wait(int t, const Event& event) {
    At(t).state = State::kWaiting;
    At(t).waits_for = event;
    NextSync(t);
    return Decide(PointKind::kWait, t);
  }

  void Wake(EventKind kind, std::uint32_t object) {
    for (Thread& thread : threads_) {
      if (thread.state != State::kWaiting || thread.waits_for.kind != kind || thread.waits_for.object != object) continue;
      thread.state = State::kReady;
    }
  }

  void NextSync(int t) {
    ++At(t).at.sync;
    At(t).at.access = 0;
  }

  int CountedPoint(PointKind kind, int t, std::uint32_t object) {
    ++outcome_.profile.steps;
    ++outcome_.profile.steps_of[t];
    profiler_->Note(t, kind, object);
    pending_[t] = object;
    return Decide(kind, t);
  }

  Decision Describe(PointKind kind, int current) {
    Decision d;
    d.kind = kind;
    d.current = current;
    for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
      if (At(t).state == State::kReady) d.ready |= Only(t);
      if (At(t).state == State::kWaiting && At(t).waits_for.kind == EventKind::kTimedWait) d.timed |= Only(t);
    }
    d.can_continue = current != kNobody && Has(d.ready, current);
    if (current != kNobody) d.at = At(current).at;
    d.step = outcome_.profile.steps;
    d.pending = pending_;
    return d;
  }

  int Decide(PointKind kind, int current) {
    const Decision d = Describe(kind, current);
    if ((d.ready | d.timed) == 0) {
      for (const Thread& thread : threads_) outcome_.deadlock = outcome_.deadlock || thread.state == State::kWaiting;
      return kNobody;
    }
    const int next = strategy_.Choose(d);
    if (next < 0 || next >= kMaxControlled || !Has(d.ready | d.timed, next)) return Reject("chose a thread that cannot run");
    if (++outcome_.decisions > kMaxDecisions) return Reject("never lets the program end");
    if (next != DefaultChoice(d)) {
      const int from = current == kNobody ? kGate : current;
      outcome_.switches.push_back({static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(next), d.at});
    }
    return GoOn(next);
  }

  int GoOn(int t) {
    Thread& thread = At(t);
    if (thread.state == State::kWaiting) thread.timed_out = true;
    thread.state = State::kReady;
    pending_[t] = 0;
    return Arm(t);
  }

  // As the scheduler does: no strategy is asked for the distance of a thread that is alone, until that makes somebody ready.
  int Arm(int t) {
    if (plan_.granularity != Granularity::kAccess) return t;
    Thread& thread = At(t);
    const Decision d = Describe(PointKind::kAccess, t);
    thread.alone = (d.ready | d.timed) == Only(t);
    thread.budget = thread.alone ? kNever : strategy_.NextAccess(t, thread.at, outcome_.profile.steps);
    return thread.budget < 1 ? Reject("asked for a distance below 1") : t;
  }

  int Reject(const char* what) {
    outcome_.error = what;
    return kNobody;
  }

  const Program& program_;
  Plan plan_;
  Strategy& strategy_;
  std::vector<Thread> threads_;
  std::map<std::uint32_t, bool> locked_;
  std::map<std::uint32_t, bool> flags_;
  std::uint32_t pending_[kMaxControlled] = {};
  std::unique_ptr<Profiler> profiler_ = std::make_unique<Profiler>();
  Outcome outcome_;
};

Events RandomEvents(Random& random) {
  Events events;
  bool locked = false;
  for (std::uint64_t n = 1 + Below(random, 6); n > 0; --n) {
    const auto object = static_cast<std::uint32_t>(1 + Below(random, 3));
    const auto kind = static_cast<EventKind>(Below(random, 8));  // no creation
    if (kind == EventKind::kLock && locked) continue;            // the mutex is not recursive
    if (kind == EventKind::kUnlock && !locked) continue;
    if (kind == EventKind::kLock || kind == EventKind::kUnlock) {
      locked = kind == EventKind::kLock;
      events.push_back({kind, 1});
    } else {
      events.push_back({kind, object});
    }
  }
  if (locked) events.push_back({EventKind::kUnlock, 1});
  return events;
}

}  // namespace

Program Operations(int threads, int operations) {
  const std::vector<Events> each(static_cast<std::size_t>(operations), Events{{EventKind::kStep, 1}});
  return {std::vector<std::vector<Events>>(static_cast<std::size_t>(threads), each)};
}

Program Steps(int threads, int steps) {
  const Events each(static_cast<std::size_t>(steps), Event{EventKind::kStep, 1});
  return {std::vector<std::vector<Events>>(static_cast<std::size_t>(threads), {each})};
}

Program RandomProgram(std::uint64_t seed) {
  Random random{seed};
  Program program;
  const std::uint64_t threads = 2 + Below(random, 3);
  for (std::uint64_t t = 0; t < threads; ++t) {
    program.threads.emplace_back();
    for (std::uint64_t n = 1 + Below(random, 3); n > 0; --n) program.threads.back().push_back(RandomEvents(random));
  }
  if (Below(random, 2) == 0) {
    program.created = 1;
    program.threads.front().front().push_back({EventKind::kCreate, static_cast<std::uint32_t>(threads - 1)});
  }
  return program;
}

Outcome Execute(const Program& program, Plan plan) { return Machine(program, plan).Run(); }

Profile Pilot(const Program& program, Granularity granularity) {
  Plan plan;
  plan.strategy = handoff::Strategy::kListed;
  plan.granularity = granularity;
  return Execute(program, plan).profile;
}

bool LostUpdate(const std::string& order) { return order != "AABB" && order != "BBAA"; }

Tally Sample(const Program& program, Plan plan, int runs) {
  plan.profile = Pilot(program, plan.granularity);
  Tally tally;
  for (int i = 0; i < runs; ++i) {
    plan.seed = static_cast<std::uint64_t>(i);
    const Outcome outcome = Execute(program, plan);
    ++tally[outcome.error.empty() ? outcome.order : outcome.error];
  }
  return tally;
}

double Share(const Tally& tally, bool (*bad)(const std::string& order)) {
  double all = 0;
  double hits = 0;
  for (const auto& [order, count] : tally) {
    all += count;
    if (bad(order)) hits += count;
  }
  return hits / all;
}

double FiveSigma(double p, int runs) { return 5 * std::sqrt(p * (1 - p) / runs); }

double ChiSquare(const Tally& tally, int kinds, int runs) {
  const double expected = static_cast<double>(runs) / kinds;
  double sum = expected * (kinds - static_cast<int>(tally.size()));  // kinds that never came: (0 - expected)^2 / expected each
  for (const auto& [order, count] : tally) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

double ChiSquareBound(int kinds) {
  const double df = kinds - 1;
  const double spread = 2 / (9 * df);
  return df * std::pow(1 - spread + 5 * std::sqrt(spread), 3);
}

}  // namespace handoff::schedule::model
