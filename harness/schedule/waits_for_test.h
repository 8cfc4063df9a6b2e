// Test only: programs that wait, run in every way there is.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

#include "harness/schedule/program_for_test.h"

namespace handoff::schedule {

class WaitsTest : public testing::TestWithParam<Carrier> {
 protected:
  // Runs the program under every strategy and granularity with several seeds; `check` after each.
  void RunAll(Program::Threads threads, const std::function<void()>& reset, const std::function<void()>& check) {
    Program program(std::move(threads));
    for (const handoff::Strategy strategy : {handoff::Strategy::kBytes, handoff::Strategy::kRandom, handoff::Strategy::kPct,
                                             handoff::Strategy::kPos, handoff::Strategy::kSurw}) {
      for (const Granularity granularity : {Granularity::kOp, Granularity::kSync, Granularity::kAccess}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          reset();
          program.Run(MakePlan(strategy, granularity, seed), GetParam());
          check();
        }
      }
    }
  }
  void ExpectFailure(Program::Threads threads, const char* text) {
    Program program(std::move(threads));
    EXPECT_EXIT(
        {
          for (std::uint64_t seed = 0; seed < 1000; ++seed) {
            SetFailureHandler([](FailureKind, const char* found) {
              std::fprintf(stderr, "%s\n", found);
              _exit(3);
            });
            program.Run(MakePlan(handoff::Strategy::kRandom, Granularity::kSync, seed), GetParam());
          }
          _exit(0);
        },
        testing::ExitedWithCode(3), text);
  }
};
}  // namespace handoff::schedule
