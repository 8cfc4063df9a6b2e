// Writes through a null pointer, or to where its stack is at an end.
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"writes_to_null", "smallest bad address", "segv"},
                           {"overflows_stack", "a recursion without an end: no stack is left for who reports it", "segv"}};

void WriteToNull() {
  volatile int* volatile nowhere = nullptr;  // volatile, so that no compiler can tell and leave the store out
  *nowhere = 1;
}

// volatile, so that no compiler makes a loop of it or finds out that it never ends.
int Recurse(int depth) {  // NOLINT(misc-no-recursion)
  volatile char page[1024] = {};
  page[static_cast<unsigned>(depth) % sizeof page] = 1;
  return depth < 0 ? 0 : Recurse(depth + 1) + page[0];
}
void OverflowStack() { (void)Recurse(0); }

// By twin.
constexpr void (*kActs[])() = {WriteToNull, OverflowStack};

}  // namespace

constinit const Canary kSegv = {"canary_segv", kEndingOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                  return MakeEnding(twin < 0 ? nullptr : kActs[twin]);
                                }};

}  // namespace handoff::canary
