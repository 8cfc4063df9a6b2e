// A plain integer between two short critical sections: the real locks order whole operations, so ThreadSanitizer reports the race
// only if a switch falls between them. CPython's reference counts hide races in the same way.
#include <mutex>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "write"}};
constexpr Twin kTwins[] = {{"unlocked_between", "smallest race that needs a switch inside an operation to be seen", "thread"}};

class HiddenRace final : public Subject {
 public:
  explicit HiddenRace(bool locked) : locked_(locked) {}

  void Begin(const Case& /*c*/) override {
    value_ = 0;
    entered_ = 0;
  }

  void Apply(int /*thread*/, Operation /*operation*/) override {
    Enter();
    if (locked_) {
      const std::lock_guard lock(mutex_);
      ++value_;
    } else {
      ++value_;
    }
    Enter();
  }

  void End() override {}

 private:
  void Enter() {
    const std::lock_guard lock(mutex_);
    ++entered_;
  }

  const bool locked_;
  std::mutex mutex_;
  int entered_ = 0;  // guarded by mutex_
  // Guarded by mutex_, unless broken. In a cell of its own: ThreadSanitizer remembers four accesses to eight bytes, and those to
  // entered_ would push these out.
  alignas(64) int value_ = 0;
};

}  // namespace

constinit const Canary kHiddenRace = {"canary_hidden_race", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<HiddenRace>(twin < 0);
                                      }};

}  // namespace handoff::canary
