// An oracle that says that something is wrong, on whatever thread it judges.
#include "harness/oracle/verdict.h"
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"judges", "smallest failed judgement", "wrong-value"}};

void Judge() { oracle::Fail("wrong-value", "", "This was judged to be wrong."); }

}  // namespace

constinit const Canary kVerdict = {"canary_verdict", kEndingOperations, kTwins,
                                   [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &Judge); }};

}  // namespace handoff::canary
