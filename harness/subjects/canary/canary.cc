#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr const Canary* kAll[] = {
    &kAbort,      &kCreatedThread, &kDataRace, &kDeadlock,  &kDoubleDelete,      &kDoubleFree,   &kEndlessSpin, &kEndlessWait,
    &kExit,       &kHiddenRace,    &kLeak,     &kLivelock,  &kLostUpdate,        &kLostWakeup,   &kModuleRace,  &kNondeterminism,
    &kPrimitives, &kSegv,          &kSpinLock, &kStaleRead, &kUncaughtException, &kUseAfterFree, &kVerdict,     &kWrongValue,
};

}  // namespace

std::span<const Canary* const> AllCanaries() { return kAll; }

}  // namespace handoff::canary
