// Two mutexes that two threads take in opposite order. ThreadSanitizer may report the order before they ever meet; the scheduler
// reports the cycle when they do.
#include <memory>
#include <mutex>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "forward"}, {.name = "backward"}};
constexpr Twin kTwins[] = {{"opposite_order", "smallest deadlock: two mutexes, two orders", "deadlock"}};

class Deadlock final : public Subject {
 public:
  explicit Deadlock(bool one_order) : one_order_(one_order) {}

  // New mutexes: ThreadSanitizer's lock-order graph would remember the orders of earlier executions, and report what is not in
  // this one.
  void Begin(const Case& /*c*/) override { shared_ = std::make_unique<Shared>(); }

  void Apply(int /*thread*/, Operation operation) override {
    const bool forward = operation.code == 0 || one_order_;
    const std::lock_guard outer(forward ? shared_->left : shared_->right);
    const std::lock_guard inner(forward ? shared_->right : shared_->left);
    ++shared_->moved;
  }

  void End() override { shared_.reset(); }

 private:
  struct Shared {
    std::mutex left;
    std::mutex right;
    int moved = 0;  // guarded by both
  };

  const bool one_order_;
  std::unique_ptr<Shared> shared_;  // of this execution
};

}  // namespace

constinit const Canary kDeadlock = {"canary_deadlock", kOperations, kTwins,
                                    [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<Deadlock>(twin < 0); }};

}  // namespace handoff::canary
