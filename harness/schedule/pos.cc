// Partial order sampling: Yuan, Yang, Gu, CAV 2018 (priorities of events, drawn again for those that race with the one that
// runs).
#include "harness/schedule/random.h"

namespace handoff::schedule {

namespace {

class Pos final : public Strategy {
 public:
  void Begin(const Plan& plan) override {
    random_.state = plan.seed;
    lowest_ = 0;
    for (int t = 0; t < plan.threads; ++t) Draw(t);
  }

  void Created(int thread) override { Draw(thread); }

  int Choose(const Decision& d) override {
    // Lowering those who yield is ours, not the paper's: its programs have no spin loops.
    if (Yields(d)) priorities_[d.current] = --lowest_;
    const int choice = Highest(priorities_, TimePasses(random_, d) ? d.timed : d.ready);
    RedrawRacing(d, choice);
    Draw(choice);
    return choice;
  }

  std::int64_t NextAccess(int, const Position&, std::uint64_t) override { return kNever; }

 private:
  // 62 random bits: see pct.cc on equal ones.
  void Draw(int thread) { priorities_[thread] = static_cast<std::int64_t>(Next(random_) >> 2); }

  // Two steps race if they touch the same object. Without a known object nothing races, and this is the paper's BasicPOS.
  void RedrawRacing(const Decision& d, int choice) {
    if (d.pending == nullptr || d.pending[choice] == 0) return;
    for (ThreadSet rest = (d.ready | d.timed) & ~Only(choice); rest != 0; rest &= rest - 1) {
      if (d.pending[First(rest)] == d.pending[choice]) Draw(First(rest));
    }
  }

  Random random_;
  std::int64_t priorities_[kMaxControlled] = {};  // of each thread's next event; below 0: it yielded, the last one lowest
  std::int64_t lowest_ = 0;                       // lowest priority given out at a yield; at most 0
};

constinit Pos strategy;

}  // namespace

Strategy& PosStrategy() { return strategy; }

}  // namespace handoff::schedule
