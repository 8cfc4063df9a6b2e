// A condition variable without a predicate: a notification that comes before the wait is lost, and the waiter waits for ever.
// Thread A notifies and the others wait, if A does anything at all, so that the safe version ends whatever the program.
#include <condition_variable>
#include <mutex>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "meet"}};
constexpr Twin kTwins[] = {{"no_predicate", "smallest lost wake-up: the waiter does not look before it waits", "deadlock"}};

class LostWakeup final : public Subject {
 public:
  explicit LostWakeup(bool looks) : looks_(looks) {}

  void Begin(const Case& c) override {
    happened_ = false;
    expected_ = !c.threads.empty() && !c.threads[0].empty();
  }

  void Apply(int thread, Operation /*operation*/) override {
    if (thread == 0) {
      const std::lock_guard lock(mutex_);
      happened_ = true;
      changed_.notify_all();
    } else if (expected_) {
      std::unique_lock lock(mutex_);
      if (!looks_) changed_.wait(lock);
      while (!happened_) changed_.wait(lock);
    }
  }

  void End() override {}

 private:
  const bool looks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;  // guarded by mutex_
  bool expected_ = false;  // set before the threads start
};

}  // namespace

constinit const Canary kLostWakeup = {"canary_lost_wakeup", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<LostWakeup>(twin < 0);
                                      }};

}  // namespace handoff::canary
