// Runs cases on the subject: case -> plan -> scheduler -> operations.
#pragma once

#include <cstdint>

#include "harness/case/case.h"
#include "harness/run/target.h"
#include "harness/schedule/plan.h"
#include "harness/schedule/record.h"
#include "harness/schedule/scheduler.h"
#include "harness/subjects/subject.h"

namespace handoff {

// One a process, alive until its end, because carriers keep a pointer to it (law 6). Driver thread only. Does not allocate.
class Executor {
 public:
  // `subject` is borrowed and initialised (Subject::Initialize).
  Executor(Subject& subject, schedule::Carrier carrier);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // One execution, from Subject::Begin to Subject::End; before it a pilot run where the strategy needs a profile and none is
  // given. The case must be valid and is borrowed until the return. Returns the scheduler's record, which the next execution
  // overwrites. A failed judgement does not return (ends.h).
  const schedule::Record& Execute(const Case& c, const schedule::Profile* profile = nullptr);

  // Whether the case runs the same way again; `first_hash` is of its last execution. A first run may differ by what it leaves
  // behind for good (a function's static variable), so a difference counts only if the next two differ from each other as well.
  bool Repeats(const Case& c, std::uint64_t first_hash, const schedule::Profile* profile = nullptr);

  // The same program without any voluntary switch: what its profile is measured with.
  const schedule::Record& ExecutePilot(const Case& c);

 private:
  void FillPlan(const Case& c);
  const schedule::Record& Run(const Case& c);
  static void StartCarrier(void* self, int thread);
  static void ApplyOperation(void* self, int thread, int index);
  static void FinishCarrier(void* self, int thread);
  static schedule::ThreadSet NeedsFinish(void* self);

  Subject& subject_;  // owned by the runner
  const schedule::Carrier carrier_;
  schedule::Body body_;
  // Of the case that runs; written by the driver before anyone runs. The plan is kept, since setting and copying its profile, of
  // some 2 kB, would take longer under TSan than a small execution.
  schedule::Plan plan_;
  const Operation* operations_[kMaxThreads] = {};  // borrowed from the case
  int counts_[kMaxThreads] = {};
};

// The granularity a case runs at in this build: its own, or the finest there is (schedule::FinestGranularity).
Granularity EffectiveGranularity(const Case& c);

}  // namespace handoff
