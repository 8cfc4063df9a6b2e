// A spin lock that does not yield. Safe, it needs the scheduler to take the baton from a thread that spins (at `access`; coarser
// points never fall inside the lock). Broken, it is never released, and the next thread spins for ever.
#include <atomic>

#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "add"}};
constexpr Twin kTwins[] = {{"never_released", "the spin lock is taken and not given back", "livelock"}};

class SpinLock final : public Subject {
 public:
  explicit SpinLock(bool releases) : releases_(releases) {}

  void Begin(const Case& /*c*/) override {
    taken_ = false;
    value_ = 0;
  }

  void Apply(int /*thread*/, Operation /*operation*/) override {
    HANDOFF_SYNC_POINT(&taken_, "take spin lock");
    while (taken_.exchange(true, std::memory_order_acquire)) {
    }
    ++value_;
    if (releases_) taken_.store(false, std::memory_order_release);
  }

  void End() override {}

 private:
  const bool releases_;
  std::atomic<bool> taken_ = false;  // acquired and released like any lock
  int value_ = 0;                    // guarded by taken_
};

}  // namespace

constinit const Canary kSpinLock = {"canary_spin_lock", kOperations, kTwins,
                                    [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<SpinLock>(twin < 0); }};

}  // namespace handoff::canary
