// Calls abort, as a failed assertion does.
#include <cstdlib>

#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"aborts", "smallest failed assertion", "abort"}};

void Abort() { std::abort(); }

}  // namespace

constinit const Canary kAbort = {"canary_abort", kEndingOperations, kTwins,
                                 [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &Abort); }};

}  // namespace handoff::canary
