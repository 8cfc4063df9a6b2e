#include "harness/run/executor.h"

#include <algorithm>

#include "harness/schedule/strategy.h"

// What the harness itself touches inside an operation is no access of the subject: neither a scheduling point nor TSan's
// business.
#define HANDOFF_UNSEEN __attribute__((no_sanitize("thread"), no_sanitize("address")))

namespace handoff {

namespace {

schedule::Plan PlanOf(const Case& c) {
  schedule::Plan plan;
  plan.strategy = c.strategy;
  plan.granularity = EffectiveGranularity(c);
  plan.parameter = c.parameter;
  plan.threads = static_cast<int>(c.threads.size());
  plan.seed = Seed(c);
  plan.bytes = c.bytes.data();
  plan.byte_count = c.bytes.size();
  plan.switches = c.switches.data();
  plan.switch_count = c.switches.size();
  return plan;
}

}  // namespace

Granularity EffectiveGranularity(const Case& c) { return std::min(c.granularity, schedule::FinestGranularity()); }

Executor::Executor(Subject& subject, schedule::Carrier carrier) : subject_(subject), carrier_(carrier) {
  body_ = {.context = this,
           .start = &StartCarrier,
           .operation = &ApplyOperation,
           .finish = &FinishCarrier,
           .needs_finish = &NeedsFinish};
}

const schedule::Record& Executor::Execute(const Case& c, const schedule::Profile* profile) {
  schedule::Plan plan = PlanOf(c);
  if (schedule::NeedsProfile(c.strategy)) plan.profile = profile != nullptr ? *profile : ExecutePilot(c).profile;
  return Run(plan, c);
}

bool Executor::Repeats(const Case& c, std::uint64_t first_hash, const schedule::Profile* profile) {
  const std::uint64_t second_hash = Execute(c, profile).hash;
  return second_hash == first_hash || Execute(c, profile).hash == second_hash;
}

const schedule::Record& Executor::ExecutePilot(const Case& c) {
  schedule::Plan plan = PlanOf(c);
  plan.strategy = Strategy::kListed;
  plan.switches = nullptr;
  plan.switch_count = 0;
  plan.pilot = true;
  return Run(plan, c);
}

const schedule::Record& Executor::Run(const schedule::Plan& plan, const Case& c) {
  for (std::size_t t = 0; t < c.threads.size(); ++t) {
    operations_[t] = c.threads[t].data();
    counts_[t] = static_cast<int>(c.threads[t].size());
  }
  subject_.Begin(c);
  const schedule::Record& record = schedule::Run(plan, body_, carrier_, counts_);
  subject_.End();
  return record;
}

void Executor::StartCarrier(void* self, int thread) { static_cast<Executor*>(self)->subject_.Start(thread); }
void Executor::FinishCarrier(void* self, int thread) { static_cast<Executor*>(self)->subject_.Finish(thread); }
bool Executor::NeedsFinish(void* self) { return static_cast<Executor*>(self)->subject_.NeedsFinish(); }

HANDOFF_UNSEEN void Executor::ApplyOperation(void* self, int thread, int index) {
  Executor& executor = *static_cast<Executor*>(self);
  executor.subject_.Apply(thread, executor.operations_[thread][index]);
}

}  // namespace handoff
