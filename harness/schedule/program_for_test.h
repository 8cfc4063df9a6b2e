// Test only: a program written as functions, run under the scheduler.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/schedule/scheduler.h"

namespace handoff::schedule {

// Each inner vector holds the operations of one thread. Lives in a static of the test: carriers keep a pointer to the body.
class Program {
 public:
  using Threads = std::vector<std::vector<std::function<void()>>>;

  explicit Program(Threads threads) : threads_(std::move(threads)) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a plain fork would lose the carriers
    Body().operation = [](void*, int thread, int index) {
      Program* program = Current();
      program->threads_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(index)]();
    };
    for (const auto& operations : threads_) counts_.push_back(static_cast<int>(operations.size()));
  }

  const Record& Run(const Plan& plan, Carrier carrier) {
    Current() = this;
    Plan complete = plan;
    complete.threads = static_cast<int>(threads_.size());
    return schedule::Run(complete, Body(), carrier, counts_.data());
  }

  // For death tests: runs it, and a failure ends the process with code 3 and its text on standard error.
  void RunToFailure(const Plan& plan, Carrier carrier) {
    SetFailureHandler([](FailureKind, const char* text) {
      std::fprintf(stderr, "%s\n", text);
      _exit(3);
    });
    Run(plan, carrier);
    std::fprintf(stderr, "no failure\n");
    _exit(0);
  }

 private:
  static schedule::Body& Body() {
    static schedule::Body body;
    return body;
  }
  static Program*& Current() {
    static Program* current = nullptr;
    return current;
  }

  Threads threads_;
  std::vector<int> counts_;
};

inline Plan MakePlan(handoff::Strategy strategy, Granularity granularity, std::uint64_t seed) {
  Plan plan;
  plan.strategy = strategy;
  plan.granularity = granularity;
  plan.seed = seed;
  return plan;
}

// Both carriers, for parameterised tests.
inline std::string CarrierName(const testing::TestParamInfo<Carrier>& info) {
  return info.param == Carrier::kFiber ? "Fibers" : "Threads";
}

}  // namespace handoff::schedule
