// Two mutexes that two threads take in opposite order. ThreadSanitizer may report the order before they ever meet; the scheduler
// reports the cycle when they do.
#include <mutex>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "forward"}, {.name = "backward"}};
constexpr Twin kTwins[] = {{"opposite_order", "smallest deadlock: two mutexes, two orders", "deadlock"}};

class Deadlock final : public Subject {
 public:
  explicit Deadlock(bool one_order) : one_order_(one_order) {}

  void Begin(const Case& /*c*/) override { moved_ = 0; }

  void Apply(int /*thread*/, const Operation& operation) override {
    const bool forward = operation.code == 0 || one_order_;
    const std::lock_guard outer(forward ? left_ : right_);
    const std::lock_guard inner(forward ? right_ : left_);
    ++moved_;
  }

  void End() override {}

 private:
  const bool one_order_;
  std::mutex left_;
  std::mutex right_;
  int moved_ = 0;  // guarded by both
};

}  // namespace

constinit const Canary kDeadlock = {"canary_deadlock", kOperations, kTwins,
                                    [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<Deadlock>(twin < 0); }};

}  // namespace handoff::canary
