// Writes through a null pointer.
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"writes_to_null", "smallest bad address", "segv"}};

void WriteToNull() {
  int* volatile nowhere = nullptr;  // volatile, so that the compiler cannot tell
  *nowhere = 1;
}

}  // namespace

constinit const Canary kSegv = {"canary_segv", kEndingOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                  return MakeEnding(twin < 0 ? nullptr : &WriteToNull);
                                }};

}  // namespace handoff::canary
