// Reads memory that it has freed itself: a report of either sanitizer on whatever thread that happens.
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"reads_freed", "smallest use after free, by one thread alone", "address"}};

void ReadFreed() {
  auto* value = new volatile int(1);
  delete value;
  (void)*value;
}

}  // namespace

constinit const Canary kStaleRead = {"canary_stale_read", kEndingOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                       return MakeEnding(twin < 0 ? nullptr : &ReadFreed);
                                     }};

}  // namespace handoff::canary
