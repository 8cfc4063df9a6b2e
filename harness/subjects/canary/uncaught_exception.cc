// Lets an exception out of an operation, where nobody may catch it.
#include <stdexcept>

#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/ending.h"

namespace handoff::canary {
namespace {

constexpr Twin kTwins[] = {{"throws", "smallest exception that nobody catches", "abort"}};

void Throw() { throw std::runtime_error("canary: nobody catches this"); }

}  // namespace

constinit const Canary kUncaughtException = {
    "canary_uncaught_exception", kEndingOperations, kTwins,
    [](int twin) -> std::unique_ptr<Subject> { return MakeEnding(twin < 0 ? nullptr : &Throw); }};

}  // namespace handoff::canary
