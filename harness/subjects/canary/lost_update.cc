// An atomic counter that is incremented by a load and a store. No data race, and on purpose no point of our macro in between:
// only a switch at an access can lose the update, so this canary proves the access points alive.
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "add"}};
constexpr Twin kTwins[] = {{"load_then_store", "the increment is an atomic load and an atomic store", "wrong-value"}};

class LostUpdate final : public Subject {
 public:
  explicit LostUpdate(bool one_step) : one_step_(one_step) {}

  void Begin(const Case& c) override {
    value_ = 0;
    expected_ = static_cast<int>(OperationCount(c));
  }

  void Apply(int /*thread*/, Operation /*operation*/) override {
    if (one_step_) {
      value_.fetch_add(1);
    } else {
      value_.store(value_.load() + 1);
    }
  }

  void End() override {
    const int value = value_.load();
    if (value != expected_) oracle::Fail("wrong-value", "", "%d increments made %d.", expected_, value);
  }

 private:
  const bool one_step_;
  std::atomic<int> value_ = 0;
  int expected_ = 0;  // set before the threads start
};

}  // namespace

constinit const Canary kLostUpdate = {"canary_lost_update", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<LostUpdate>(twin < 0);
                                      }};

}  // namespace handoff::canary
