#include "harness/oracle/verdict.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace handoff::oracle {
namespace {

TEST(VerdictTest, WithoutAHandlerFailPrintsTheVerdictAndAborts) {
  EXPECT_DEATH(Fail("double-delete", "R3", "tensor %d", 7), "verdict: double-delete R3: tensor 7");
}

TEST(VerdictTest, AnEmptyRuleIsLeftOut) { EXPECT_DEATH(Fail("deadlock", "", "nobody runs"), "verdict: deadlock: nobody runs"); }

TEST(VerdictTest, TheHandlerSeesKindRuleAndDetail) {
  const auto fail = [] {
    SetVerdictHandler([](const Verdict& verdict) {
      fprintf(stderr, "seen %s/%s/%s\n", verdict.kind, verdict.rule, verdict.detail);
      _Exit(3);
    });
    Fail("protocol", "R12", "major %u", 2U);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(3), "seen protocol/R12/major 2");
}

TEST(VerdictTest, ADetailIsCutAtTwoThousandCharacters) {
  const auto fail = [] {
    SetVerdictHandler([](const Verdict& verdict) { _Exit(strlen(verdict.detail) == 2000 ? 4 : 5); });
    Fail("protocol", "", "%3000d", 1);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(4), "");
}

}  // namespace
}  // namespace handoff::oracle
