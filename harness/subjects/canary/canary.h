// Canaries: the smallest subjects that go wrong in one way each, to prove the detectors alive.
//
// A detector that sees nothing and a detector that is broken look the same from outside. Each canary is safe by default (twin -1)
// and has a broken twin for one thing that we claim to notice. fuzz/canary/expectations.txt says who must notice which, and at
// which granularity. All executions are bounded, except where being endless is what is wrong.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "harness/case/case.h"
#include "harness/subjects/subject.h"

namespace handoff::canary {

// Everything a target's file needs. Constants for the whole process; readable by any thread.
struct Canary {
  std::string_view name;  // of the target: "canary_data_race"
  std::span<const OperationKind> operations;
  std::span<const Twin> twins;
  // The caller owns the subject. `twin` indexes `twins`; -1 is the safe one.
  std::unique_ptr<Subject> (*make)(int twin);
};

// What the sanitizers notice.
extern const Canary kDataRace;
extern const Canary kHiddenRace;
extern const Canary kUseAfterFree;
extern const Canary kDoubleFree;
extern const Canary kCreatedThread;
extern const Canary kModuleRace;
extern const Canary kStaleRead;
// What the oracles notice.
extern const Canary kVerdict;
extern const Canary kDoubleDelete;
extern const Canary kLeak;
extern const Canary kWrongValue;
extern const Canary kLostUpdate;
extern const Canary kNondeterminism;
// What the scheduler notices.
extern const Canary kDeadlock;
extern const Canary kLostWakeup;
extern const Canary kEndlessWait;
extern const Canary kLivelock;
extern const Canary kSpinLock;
extern const Canary kPrimitives;
// What the runner notices.
extern const Canary kAbort;
extern const Canary kUncaughtException;
extern const Canary kSegv;
extern const Canary kExit;
extern const Canary kEndlessSpin;

// All of the above, by name.
std::span<const Canary* const> AllCanaries();

}  // namespace handoff::canary
