// An operation that yields more or less often, depending on something that is no part of the case: how many executions this
// process has made. Running one case twice notices: the decisions differ.
#include <sched.h>

#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "step"}};
constexpr Twin kTwins[] = {{"counter_not_reset", "a process-wide counter outlives the execution", "nondeterministic"}};
// Prime and above any number of executions (pilot runs too) that may lie between two runs that are compared.
constexpr unsigned kCycle = 7;

class Nondeterminism final : public Subject {
 public:
  explicit Nondeterminism(bool resets) : resets_(resets) {}

  void Begin(const Case& /*c*/) override { executions_ = resets_ ? 3 : executions_ + 1; }

  void Apply(int /*thread*/, Operation /*operation*/) override {
    for (unsigned i = 0; i < executions_ % kCycle; ++i) {
      HANDOFF_SYNC_POINT(this, "step");
      sched_yield();  // a decision at every granularity
    }
  }

  void End() override {}

 private:
  const bool resets_;
  unsigned executions_ = 0;  // written by the driver only
};

}  // namespace

constinit const Canary kNondeterminism = {"canary_nondeterminism", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                            return std::make_unique<Nondeterminism>(twin < 0);
                                          }};

}  // namespace handoff::canary
