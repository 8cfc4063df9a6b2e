// Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010. A bug of depth d among n threads
// and k steps is found with probability at least 1/(n k^(d-1)).
#include "harness/schedule/random.h"

namespace handoff::schedule {

namespace {

constexpr int kDepths = 8;  // the parameter is taken modulo this
constexpr int kDefaultDepth = 3;
constexpr int kMaxChanges = kDepths - 2;
constexpr std::uint64_t kDone = UINT64_MAX;

class Pct final : public Strategy {
 public:
  void Begin(const Plan& plan) override {
    random_.state = plan.seed;
    lowest_ = 0;
    for (int t = 0; t < plan.threads; ++t) Created(t);
    const int depth = plan.parameter % kDepths == 0 ? kDefaultDepth : plan.parameter % kDepths;
    for (int i = 0; i < kMaxChanges; ++i) {
      const bool used = i < depth - 1 && plan.profile.steps > 0;
      changes_[i] = used ? 1 + Below(random_, plan.profile.steps) : kDone;
    }
  }

  // 61 random bits: equal ones are as good as impossible, and go to the lower thread number.
  void Created(int thread) override { priorities_[thread] = kMaxChanges + static_cast<std::int64_t>(Next(random_) >> 3); }

  int Choose(const Decision& d) override {
    ApplyChanges(d);
    // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): somebody yields, so somebody is there
    if (Yields(d)) priorities_[d.current] = --lowest_;
    if (TimePasses(random_, d)) return Highest(priorities_, d.timed);
    return Highest(priorities_, d.ready);
  }

  // Changes that were due have been applied by Choose at this very step.
  std::int64_t NextAccess(int, const Position&, std::uint64_t step) override {
    std::uint64_t next = kDone;
    for (const std::uint64_t change : changes_) {
      if (change > step && change < next) next = change;
    }
    return next == kDone ? kNever : static_cast<std::int64_t>(next - step);
  }

 private:
  // The i-th change point gives priority i, as in the paper: later ones may be higher, which the guarantee needs for d above 2.
  void ApplyChanges(const Decision& d) {
    if (d.current < 0) return;
    for (int i = 0; i < kMaxChanges; ++i) {
      if (changes_[i] > d.step) continue;
      priorities_[d.current] = i;
      changes_[i] = kDone;
    }
  }

  Random random_;
  // From kMaxChanges up: as drawn. 0 to kMaxChanges - 1: lowered at that change point. Below 0: lowered at a yield, the last one
  // lowest.
  std::int64_t priorities_[kMaxControlled] = {};
  std::int64_t lowest_ = 0;                  // lowest priority given out at a yield; at most 0
  std::uint64_t changes_[kMaxChanges] = {};  // step of each change point, 1 to k; kDone once applied or unused
};

constinit Pct strategy;

}  // namespace

Strategy& PctStrategy() { return strategy; }

}  // namespace handoff::schedule
