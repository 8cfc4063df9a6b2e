// Selectively uniform random walk: Zhao et al., ASPLOS 2025. Of the interesting steps, every interleaving is about equally
// likely.
//
// Which thread makes the next interesting step is drawn in proportion to how many it has left; until it has made it, everybody
// else may run up to an interesting step of his own, but not through it. Interesting are the `sync` points at objects which
// several threads touch, as seen in the pilot run; if it saw none, all steps are.
#include "harness/schedule/random.h"

namespace handoff::schedule {

namespace {

constexpr int kNobody = -1;

class Surw final : public Strategy {
 public:
  void Begin(const Plan& plan) override {
    random_.state = plan.seed;
    profile_ = &plan.profile;
    intended_ = kNobody;
    entered_ = 0;
    selective_ = false;
    for (const std::uint64_t steps : profile_->shared_of) selective_ = selective_ || steps > 0;
    next_is_interesting_ = selective_ ? 0 : ~ThreadSet{0};
    for (int t = 0; t < kMaxControlled; ++t) {
      passed_[t] = 0;
      // One more than points: a thread's first step begins at the gate.
      remaining_[t] = selective_ ? profile_->shared_of[t] : profile_->steps_of[t] + 1;
    }
  }

  int Choose(const Decision& d) override {
    Arrive(d);
    if (TimePasses(random_, d)) return AnyOf(random_, d.timed);
    const ThreadSet candidates = Yields(d) && Others(d) != 0 ? Others(d) : d.ready;
    // Nobody is meant, or he cannot run now: draw again, else everybody might wait for a thread that waits for them.
    if (intended_ == kNobody || !Has(candidates, intended_)) intended_ = DrawByRemaining(candidates);
    const int choice = AnyOf(random_, candidates & (~next_is_interesting_ | Only(intended_)));
    Leave(choice);
    return choice;
  }

  std::int64_t NextAccess(int, const Position&, std::uint64_t) override { return kNever; }

 private:
  // Works out whether the step that `current` stands before is interesting.
  void Arrive(const Decision& d) {
    if (d.kind == PointKind::kOp || d.kind == PointKind::kSync) {
      const std::uint32_t point = passed_[d.current]++;
      if (!selective_ || (d.kind == PointKind::kSync && Shared(d.current, point))) next_is_interesting_ |= Only(d.current);
    } else if (d.kind == PointKind::kWait && Has(entered_, d.current)) {
      // The interesting step could not be made after all: it is still ahead.
      next_is_interesting_ |= Only(d.current);
      ++remaining_[d.current];
    }
  }

  bool Shared(int thread, std::uint32_t point) const {
    return point >= kProfiledSteps || (profile_->shared[thread][point / 64] >> (point % 64) & 1U) != 0;
  }

  // `choice` goes on, through the step it stands before.
  void Leave(int choice) {
    entered_ &= ~Only(choice);
    if (!Has(next_is_interesting_, choice)) return;
    next_is_interesting_ &= ~Only(choice);
    entered_ |= Only(choice);
    if (remaining_[choice] > 0) --remaining_[choice];
    intended_ = kNobody;
  }

  int DrawByRemaining(ThreadSet set) {
    std::uint64_t total = 0;
    for (ThreadSet rest = set; rest != 0; rest &= rest - 1) total += remaining_[First(rest)];
    if (total == 0) return AnyOf(random_, set);  // the pilot run was shorter than this one
    std::uint64_t n = Below(random_, total);
    for (ThreadSet rest = set;; rest &= rest - 1) {
      if (n < remaining_[First(rest)]) return First(rest);
      n -= remaining_[First(rest)];
    }
  }

  Random random_;
  const Profile* profile_ = nullptr;  // borrowed from the plan
  bool selective_ = false;            // the pilot run knows of shared objects
  int intended_ = kNobody;            // who makes the next interesting step; nobody right after one
  // Disjoint: threads that stand before an interesting step, and those that are inside one (or made one last).
  ThreadSet next_is_interesting_ = 0;
  ThreadSet entered_ = 0;
  std::uint32_t passed_[kMaxControlled] = {};     // `op` and `sync` points of each thread so far
  std::uint64_t remaining_[kMaxControlled] = {};  // interesting steps each thread has left, by the pilot run's count
};

constinit Surw strategy;

}  // namespace

Strategy& SurwStrategy() { return strategy; }

}  // namespace handoff::schedule
