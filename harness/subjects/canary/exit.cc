// Calls exit in the middle of a run, as a library does that gives up.
#include <cstdlib>

#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"exits", "smallest exit that the runner did not ask for", "exit"}};

void Exit() { std::exit(0); }

}  // namespace

constinit const Canary kExit = {"canary_exit", kEndingOperations, kTwins,
                                [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &Exit); }};

}  // namespace handoff::canary
