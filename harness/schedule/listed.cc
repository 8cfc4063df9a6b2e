// Exactly the switches of the plan: what any run can be recorded as (record.h), like the schedule strings of awslabs/shuttle.
//
// The head of the list waits for its thread to stand where it says. A switch whose thread has gone past that place, or whose
// target cannot run there, is dropped, so a list outlives small changes of the program.
#include "harness/schedule/strategy.h"

namespace handoff::schedule {

namespace {

constexpr std::uint64_t kEnded = UINT64_MAX;

// Positions of one thread in the order in which it reaches them.
std::uint64_t Key(const Position& at) { return std::uint64_t{at.operation} << 48 | std::uint64_t{at.sync} << 32 | at.access; }

class Listed final : public Strategy {
 public:
  void Begin(const Plan& plan) override {
    head_ = plan.switches;
    end_ = plan.switches + plan.switch_count;
    gate_is_over_ = false;
    ended_ = 0;
    program_threads_ = plan.threads;
    for (std::uint64_t& key : open_from_) key = 0;
  }

  void Created(int thread) override { ended_ &= ~Only(thread); }

  int Choose(const Decision& d) override {
    const int choice = TakeSwitch(d);
    if (d.current < 0) {
      gate_is_over_ = true;
    } else {
      const bool ends = d.kind == PointKind::kEnd;
      open_from_[d.current] = ends && d.current < program_threads_ ? kEnded : Key(d.at) + 1;
      if (ends) ended_ |= Only(d.current);
    }
    return choice >= 0 ? choice : DefaultChoice(d);
  }

  std::int64_t NextAccess(int thread, const Position& at, std::uint64_t) override {
    DropPassed();
    const Switch* entry = head_;
    while (entry != end_ && entry->thread != thread && MayHavePassed(*entry)) ++entry;
    if (entry == end_ || entry->thread != thread) return kNever;
    const Position& to = entry->at;
    if (to.operation != at.operation || to.sync != at.sync || to.access <= at.access) return kNever;
    return std::int64_t{to.access} - std::int64_t{at.access};
  }

 private:
  // The target of the first switch that applies here, or -1.
  int TakeSwitch(const Decision& d) {
    if (d.current >= 0) open_from_[d.current] = Key(d.at);
    for (;;) {
      DropPassed();
      const Switch* entry = head_;
      while (entry != end_ && !IsHere(*entry, d) && MayHavePassed(*entry)) ++entry;
      if (entry == end_ || !IsHere(*entry, d)) return -1;
      head_ = entry + 1;
      const int to = entry->to;
      if (to < kMaxControlled && Has(d.ready | d.timed, to)) return to;
    }
  }

  static bool IsHere(const Switch& entry, const Decision& d) {
    if (d.current < 0) return entry.thread == kGate;
    return entry.thread == d.current && Key(entry.at) == Key(d.at);
  }

  // A created thread has ended before it got there. Another one may get its number and go on from its position, so that the
  // switch is to wait; but not when a later one of the list has its place.
  bool MayHavePassed(const Switch& entry) const {
    return HasPassed(entry) || (entry.thread != kGate && Has(ended_, entry.thread));
  }

  void DropPassed() {
    while (head_ != end_ && HasPassed(*head_)) ++head_;
  }

  bool HasPassed(const Switch& entry) const {
    if (entry.thread == kGate) return gate_is_over_;
    return entry.thread >= kMaxControlled || Key(entry.at) < open_from_[entry.thread];
  }

  const Switch* head_ = nullptr;  // borrowed from the plan: the first switch not yet applied or dropped
  const Switch* end_ = nullptr;
  bool gate_is_over_ = false;
  int program_threads_ = 0;
  ThreadSet ended_ = 0;
  std::uint64_t open_from_[kMaxControlled] = {};  // the first Key at which each thread may still decide
};

constinit Listed strategy;

}  // namespace

Strategy& ListedStrategy() { return strategy; }

}  // namespace handoff::schedule
