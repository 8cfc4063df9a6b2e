#include "harness/run/executor.h"

#include <algorithm>

#include "harness/schedule/strategy.h"

namespace handoff {

Granularity EffectiveGranularity(const Case& c) { return std::min(c.granularity, schedule::FinestGranularity()); }

Executor::Executor(Subject& subject, schedule::Carrier carrier) : subject_(subject), carrier_(carrier) {
  body_ = {.context = this,
           .start = &StartCarrier,
           .operation = &ApplyOperation,
           .finish = &FinishCarrier,
           .needs_finish = &NeedsFinish};
}

void Executor::FillPlan(const Case& c) {
  plan_.strategy = c.strategy;
  plan_.granularity = EffectiveGranularity(c);
  plan_.parameter = c.parameter;
  plan_.threads = static_cast<int>(c.threads.size());
  plan_.seed = Seed(c);
  plan_.bytes = c.bytes.data();
  plan_.byte_count = c.bytes.size();
  plan_.switches = c.switches.data();
  plan_.switch_count = c.switches.size();
  plan_.pilot = false;
  for (std::size_t t = 0; t < c.threads.size(); ++t) {
    operations_[t] = c.threads[t].data();
    counts_[t] = static_cast<int>(c.threads[t].size());
  }
}

const schedule::Record& Executor::Execute(const Case& c, const schedule::Profile* profile) {
  if (schedule::NeedsProfile(c.strategy)) plan_.profile = profile != nullptr ? *profile : ExecutePilot(c).profile;
  FillPlan(c);
  return Run(c);
}

bool Executor::Repeats(const Case& c, std::uint64_t first_hash, const schedule::Profile* profile) {
  const std::uint64_t second_hash = Execute(c, profile).hash;
  return second_hash == first_hash || Execute(c, profile).hash == second_hash;
}

const schedule::Record& Executor::ExecutePilot(const Case& c) {
  FillPlan(c);
  plan_.strategy = Strategy::kListed;
  plan_.switches = nullptr;
  plan_.switch_count = 0;
  plan_.pilot = true;
  return Run(c);
}

const schedule::Record& Executor::Run(const Case& c) {
  schedule::NoteForeignThreads(true);
  subject_.Begin(c);
  schedule::NoteForeignThreads(false);
  const schedule::Record& record = schedule::Run(plan_, body_, carrier_, counts_);
  subject_.End();
  return record;
}

void Executor::StartCarrier(void* self, int thread) { static_cast<Executor*>(self)->subject_.Start(thread); }
void Executor::FinishCarrier(void* self, int thread) { static_cast<Executor*>(self)->subject_.Finish(thread); }
schedule::ThreadSet Executor::NeedsFinish(void* self) {
  Executor& executor = *static_cast<Executor*>(self);
  const ThreadBits program = schedule::Only(executor.plan_.threads) - 1;
  return executor.subject_.NeedsFinish(program) & program;
}

void Executor::ApplyOperation(void* self, int thread, int index) {
  Executor& executor = *static_cast<Executor*>(self);
  executor.subject_.Apply(thread, executor.operations_[thread][index]);
}

}  // namespace handoff
