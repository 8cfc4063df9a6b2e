// A shared count of owners; whoever lets go last deletes. Broken, the count is decremented and read in two steps, and two threads
// both believe to be the last. Once with a ledger that notices the second delete beforehand, once with nothing but the allocator.
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "release"}};
constexpr Twin kLedgerTwins[] = {{"count_read_again", "the reference count is read after the decrement", "double-delete"}};
constexpr Twin kFreeTwins[] = {{"count_read_again", "the reference count is read after the decrement", "address"}};

class DoubleDelete final : public Subject {
 public:
  DoubleDelete(bool one_step, bool ledger) : one_step_(one_step), ledger_(ledger) {}

  void Begin(const Case& c) override {
    box_ = new int(0);
    deletes_ = 0;
    owners_ = static_cast<int>(OperationCount(c));
    if (owners_ == 0) Delete();
  }

  void Apply(int /*thread*/, const Operation& /*operation*/) override {
    HANDOFF_SYNC_POINT(&owners_, "decrement owners");
    bool last = owners_.fetch_sub(1) == 1;
    if (!one_step_) {
      HANDOFF_SYNC_POINT(&owners_, "read owners");
      last = owners_.load() == 0;
    }
    if (last) Delete();
  }

  void End() override {}

 private:
  void Delete() {
    HANDOFF_SYNC_POINT(box_, "free box");
    if (ledger_ && deletes_.fetch_add(1) != 0) oracle::Fail("double-delete", "", "The box is deleted for the second time.");
    delete box_;
  }

  const bool one_step_;
  const bool ledger_;
  std::atomic<int> owners_ = 0;
  std::atomic<int> deletes_ = 0;
  int* box_ = nullptr;  // owned by whoever brings owners_ to zero
};

}  // namespace

constinit const Canary kDoubleDelete = {
    "canary_double_delete", kOperations, kLedgerTwins,
    [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<DoubleDelete>(twin < 0, true); }};
constinit const Canary kDoubleFree = {"canary_double_free", kOperations, kFreeTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<DoubleDelete>(twin < 0, false);
                                      }};

}  // namespace handoff::canary
