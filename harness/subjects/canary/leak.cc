// A shared count of owners; the last one deletes. Broken, only thread A ever does. The subject counts the deletes itself, since
// LeakSanitizer is switched off in every binary of ours: it cannot see leaks of objects that an interpreter still points to.
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "release"}};
constexpr Twin kTwins[] = {{"creator_only", "the last owner deletes only if it is thread A", "missing-delete"}};

class Leak final : public Subject {
 public:
  explicit Leak(bool anyone) : anyone_(anyone) {}

  void Begin(const Case& c) override {
    box_ = std::make_unique<int>(0);
    owners_ = static_cast<int>(OperationCount(c));
    if (owners_ == 0) box_ = nullptr;
  }

  void Apply(int thread, const Operation& /*operation*/) override {
    HANDOFF_SYNC_POINT(&owners_, "decrement owners");
    if (owners_.fetch_sub(1) != 1) return;
    if (!anyone_ && thread != 0) return;
    HANDOFF_SYNC_POINT(box_.get(), "free box");
    box_ = nullptr;
  }

  void End() override {
    if (box_ != nullptr) oracle::Fail("missing-delete", "", "The box has no owner left and was never deleted.");
  }

 private:
  const bool anyone_;
  std::atomic<int> owners_ = 0;
  std::unique_ptr<int> box_;  // dropped by whoever brings owners_ to zero
};

}  // namespace

constinit const Canary kLeak = {"canary_leak", kOperations, kTwins,
                                [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<Leak>(twin < 0); }};

}  // namespace handoff::canary
