// A box that one thread frees and another one reads. All of it happens under one mutex, so that the only thing wrong is the use
// of freed memory.
#include <mutex>

#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "use"}, {.name = "release"}};
constexpr Twin kTwins[] = {{"pointer_kept", "smallest use after free: release does not clear the pointer", "address"}};

struct Box {
  int value = 0;
};

class UseAfterFree final : public Subject {
 public:
  explicit UseAfterFree(bool clears) : clears_(clears) {}

  void Begin(const Case& /*c*/) override {
    box_ = new Box;
    released_ = false;
  }

  void Apply(int thread, Operation operation) override {
    const std::lock_guard lock(mutex_);
    if (operation.code == 0) {
      if (box_ != nullptr) seen_[thread] = box_->value;
    } else if (!released_) {
      released_ = true;
      HANDOFF_SYNC_POINT(box_, "free box");
      delete box_;
      if (clears_) box_ = nullptr;
    }
  }

  void End() override {
    if (!released_) delete box_;
    box_ = nullptr;
  }

 private:
  const bool clears_;
  std::mutex mutex_;       // guards what follows
  Box* box_ = nullptr;     // owned until released_
  bool released_ = false;  // tells End, not the users
  int seen_[kMaxThreads] = {};
};

}  // namespace

constinit const Canary kUseAfterFree = {"canary_use_after_free", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                          return std::make_unique<UseAfterFree>(twin < 0);
                                        }};

}  // namespace handoff::canary
