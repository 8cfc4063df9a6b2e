// Writes through a null pointer.
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"writes_to_null", "smallest bad address", "segv"}};

void WriteToNull() {
  volatile int* volatile nowhere = nullptr;  // volatile, so that no compiler can tell and leave the store out
  *nowhere = 1;
}

}  // namespace

constinit const Canary kSegv = {"canary_segv", kEndingOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                  return MakeEnding(twin < 0 ? nullptr : &WriteToNull);
                                }};

}  // namespace handoff::canary
