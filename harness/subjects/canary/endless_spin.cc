// Spins without a point, a call or a memory access, so that nothing but the time-out can notice; and ThreadSanitizer delays the
// signals of a thread that makes no call.
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"spins", "smallest endless loop", "timeout"}};

void Spin() {
  for (;;) __asm__ volatile("");
}

}  // namespace

constinit const Canary kEndlessSpin = {
    "canary_endless_spin", kEndingOperations, kTwins,
    [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &Spin); }};

}  // namespace handoff::canary
