// Yields until a flag is set that nobody sets. The thread can always run, so this is no deadlock.
#include <sched.h>

#include <atomic>

#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"yields", "smallest livelock", "livelock"}};

std::atomic<bool> never = false;

void YieldForEver() {
  while (!never.load(std::memory_order_relaxed)) sched_yield();
}

}  // namespace

constinit const Canary kLivelock = {"canary_livelock", kEndingOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                      return MakeEnding(twin < 0 ? nullptr : &YieldForEver);
                                    }};

}  // namespace handoff::canary
