// Waits for a signal that nobody sends: the thread gives the baton up for good.
#include <unistd.h>

#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"pauses", "smallest endless wait", "deadlock"}};

void PauseForEver() {
  for (;;) pause();
}

}  // namespace

constinit const Canary kEndlessWait = {
    "canary_endless_wait", kEndingOperations, kTwins,
    [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &PauseForEver); }};

}  // namespace handoff::canary
