// A cached value that is looked up twice where once would be right: between the two atomic loads somebody clears it. There is no
// data race, so only an oracle can notice.
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "set"}, {.name = "clear"}, {.name = "read"}};
constexpr Twin kTwins[] = {{"loaded_twice", "the value is tested by one atomic load and used by another", "wrong-value"}};
constexpr int kValue = 7;

class WrongValue final : public Subject {
 public:
  explicit WrongValue(bool loads_once) : loads_once_(loads_once) {}

  void Begin(const Case& /*c*/) override { value_ = 0; }

  void Apply(int /*thread*/, Operation operation) override {
    HANDOFF_SYNC_POINT(&value_, "access value");
    if (operation.code == 0) {
      value_.store(kValue);
    } else if (operation.code == 1) {
      value_.store(0);
    } else if (int value = value_.load(); value != 0) {
      if (!loads_once_) {
        HANDOFF_SYNC_POINT(&value_, "load value again");
        value = value_.load();
      }
      if (value != kValue)
        oracle::Fail("wrong-value", "", "The value was seen to be set, then read as %d instead of %d.", value, kValue);
    }
  }

  void End() override {}

 private:
  const bool loads_once_;
  std::atomic<int> value_ = 0;
};

}  // namespace

constinit const Canary kWrongValue = {"canary_wrong_value", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<WrongValue>(twin < 0);
                                      }};

}  // namespace handoff::canary
