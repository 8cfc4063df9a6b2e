#include "harness/run/confirm.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "harness/run/smaller.h"
#include "harness/run/subject_for_test.h"

namespace handoff {
namespace {

using std::chrono::milliseconds;

Outcome Clean() {
  Outcome outcome;
  outcome.end = EndKind::kClean;
  return outcome;
}
Outcome Failed(std::string kind = "double-delete", std::string rule = "R1") {
  Outcome outcome;
  outcome.end = EndKind::kFinding;
  outcome.kind = std::move(kind);
  outcome.rule = std::move(rule);
  outcome.switches = {{.thread = 0, .to = 1, .at = {.operation = 1}}};
  return outcome;
}

constexpr auto kAlways = [](const Confirmation&) { return true; };

std::string SignatureOf(const Case&, const Outcome& outcome) { return outcome.kind + "--" + outcome.rule; }

Confirmer Make(Confirmer::Run run, milliseconds search = milliseconds(10'000)) {
  return {std::move(run), SignatureOf, [] { return false; }, {.search = search, .why = milliseconds(10'000)}};
}

Case Original() {
  Case c = SmallCase(Strategy::kRandom);
  c.bytes = {1, 2, 3};
  c.parameter = 7;
  return c;
}

TEST(ConfirmTest, WhatFailsAgainIsPublishedAsSwitches) {
  const Confirmation result = Make([](const Case&) { return Failed(); }).Confirm(Original(), Failed());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.published.strategy, Strategy::kListed);
  EXPECT_EQ(result.published.switches, Failed().switches);
  EXPECT_EQ(result.published.parameter, 0) << "it was the other strategy's";
  EXPECT_EQ(result.published.threads, Original().threads);
  EXPECT_EQ(result.signature, "double-delete--R1");
  EXPECT_EQ(result.executions, 6) << "once as found, five times as published";
}

TEST(ConfirmTest, AFormThatFailsOnlySometimesIsNotPublished) {
  int runs = 0;
  const auto run = [&runs](const Case& c) {
    if (c.strategy != Strategy::kListed) return Failed();
    return ++runs % 3 == 0 ? Clean() : Failed();
  };
  const Confirmation result = Make(run).Confirm(Original(), Failed());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.published, Original()) << "its own form always fails";
}

TEST(ConfirmTest, SwitchesOfTheFindingRunAreTriedWhenTheBytesPass) {
  const auto run = [](const Case& c) { return c.strategy == Strategy::kListed ? Failed() : Clean(); };
  const Confirmation result = Make(run).Confirm(Original(), Failed());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.published.switches, Failed().switches);
}

TEST(ConfirmTest, OtherSchedulesOfTheProgramAreSearched) {
  const auto run = [](const Case& c) {
    const bool searched = c.strategy != Strategy::kListed && c.bytes != Original().bytes;
    const bool found = c.strategy == Strategy::kListed && c.switches.size() == 2;
    Outcome outcome = searched || found ? Failed() : Clean();
    outcome.switches.resize(2);
    return outcome;
  };
  const Confirmation result = Make(run).Confirm(Original(), Failed());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.published.switches.size(), 2U);
  EXPECT_EQ(result.published.threads, Original().threads);
}

// The first thread's second operation is heard in a fresh process only, where it ends all that comes after.
bool Hears(const Case& c) { return c.threads[0].size() > 1; }
std::vector<Case> Unheard(const Case& c) {
  std::vector<Case> without;
  if (Hears(c)) without.push_back(c);
  for (Case& other : without) other.threads[0].pop_back();
  return without;
}

TEST(ConfirmTest, AProgramWithoutWhatOnlyAFreshProcessHearsIsTriedAsItWent) {
  const auto run = [](const Case& c) { return !Hears(c) && c.switches == Failed().switches ? Failed() : Clean(); };
  EXPECT_FALSE(Make(run, milliseconds(20)).Confirm(Original(), Failed()).confirmed);
  const Confirmation result = Make(run).Confirm(Original(), Failed(), Unheard);
  EXPECT_TRUE(result.confirmed);
  EXPECT_FALSE(Hears(result.published));
  EXPECT_EQ(result.published.switches, Failed().switches);
  EXPECT_EQ(result.executions, 8) << "as found, as it went, without; then five times as published";
}

TEST(ConfirmTest, OtherSchedulesAreSearchedForBothPrograms) {
  for (const bool heard : {false, true}) {
    const auto run = [heard](const Case& c) {
      const bool searched = c.strategy != Strategy::kListed && c.bytes != Original().bytes;
      const bool found = c.strategy == Strategy::kListed && c.switches.size() == 2;
      Outcome outcome = (searched || found) && Hears(c) == heard ? Failed() : Clean();
      outcome.switches.resize(2);
      return outcome;
    };
    const Confirmation result = Make(run).Confirm(Original(), Failed(), Unheard);
    EXPECT_TRUE(result.confirmed);
    EXPECT_EQ(Hears(result.published), heard);
  }
}

TEST(ConfirmTest, WhatNeverFailsAgainStaysUnconfirmed) {
  const Confirmation result = Make([](const Case&) { return Clean(); }, milliseconds(20)).Confirm(Original(), Failed());
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(result.published, Original());
  EXPECT_EQ(result.signature, "double-delete--R1");
}

TEST(ConfirmTest, ChangingSignaturesAreNoConfirmation) {
  int runs = 0;
  const auto run = [&runs](const Case&) { return Failed("double-delete", "R" + std::to_string(++runs)); };
  EXPECT_FALSE(Make(run, milliseconds(20)).Confirm(Original(), Failed()).confirmed);
}

TEST(ConfirmTest, TheSameKindIsBetterThanAnotherOne) {
  // The bytes give another finding, the switches of the finding run the same kind under another rule.
  const auto run = [](const Case& c) {
    return c.strategy == Strategy::kListed ? Failed("double-delete", "R2") : Failed("deadlock", "");
  };
  const Confirmation result = Make(run).Confirm(Original(), Failed());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(result.signature, "double-delete--R2");
}

TEST(ConfirmTest, ARunWithoutControlIsNeverPublishedAsItIs) {
  Case free = Original();
  free.strategy = Strategy::kFree;
  const auto run = [](const Case& c) { return c.strategy == Strategy::kFree ? Failed() : Clean(); };
  EXPECT_FALSE(Make(run, milliseconds(20)).Confirm(free, Failed()).confirmed);
}

TEST(ConfirmTest, NothingIsTriedWhenNobodyWaits) {
  int runs = 0;
  Confirmer confirmer(
      [&runs](const Case&) {
        ++runs;
        return Failed();
      },
      [](const Case&, const Outcome&) { return std::string(); }, [] { return true; }, {});
  EXPECT_FALSE(confirmer.Confirm(Original(), Failed()).confirmed);
  EXPECT_EQ(runs, 0);
}

TEST(ConfirmTest, TheDecisiveSwitchIsTheOneWithoutWhichItPasses) {
  Confirmation confirmation;
  confirmation.published = SmallCase();
  for (std::uint8_t i = 0; i < 3; ++i) {
    confirmation.published.switches.push_back({.thread = i, .to = 0, .at = {.operation = i}});
  }
  const auto run = [](const Case& c) {
    for (const Switch& decision : c.switches) {
      if (decision.thread == 1) return Failed();
    }
    return Clean();
  };
  const DecisiveSearch search = Make(run).FindDecisive(confirmation);
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->index, 1U);
  EXPECT_FALSE(search.found->without.Failed());
  confirmation.signature = "double-delete--R1";
  const DecisiveSearch in_vain = Make([](const Case&) { return Failed(); }).FindDecisive(confirmation);
  EXPECT_FALSE(in_vain.found);
  EXPECT_TRUE(in_vain.complete);
  const DecisiveSearch other =
      Make([](const Case& c) { return c.switches[1].thread == 2 ? Failed("wrong-value") : Failed(); }).FindDecisive(confirmation);
  ASSERT_TRUE(other.found) << "another finding is better than nothing";
  EXPECT_EQ(other.found->without.kind, "wrong-value");
  Confirmer no_time({}, {}, [] { return true; }, {});
  EXPECT_FALSE(no_time.FindDecisive(confirmation).complete);
}

TEST(ConfirmTest, AConfirmedCaseIsMadeSmallerAndFailsAsOften) {
  int runs = 0;
  const auto run = [&runs](const Case& c) {
    ++runs;
    if (c.threads.size() == 2 && OperationCount(c) > 1) return Failed();
    return OperationCount(c) == 1 ? Failed("wrong-value") : Clean();  // another finding is not the same one
  };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  ASSERT_TRUE(confirmation.confirmed);
  const int before = runs;
  EXPECT_TRUE(Make(run).Shrink(confirmation, kAlways)) << "nothing more can be left out";
  EXPECT_EQ(OperationCount(confirmation.published), 2U);
  EXPECT_EQ(confirmation.signature, "double-delete--R1");
  EXPECT_GE(runs - before, 5);
}

TEST(ConfirmTest, WhatTheSystemRefusesToRunIsNoFailureAndNoSuccess) {
  const auto run = [](const Case&) {
    Outcome outcome;
    outcome.lost = true;
    return outcome;
  };
  const Confirmation result = Make(run, milliseconds(20)).Confirm(Original(), Failed());
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(result.published, Original());
  EXPECT_EQ(result.signature, "double-delete--R1");
  Confirmation confirmation;
  confirmation.published = SmallCase();
  confirmation.published.switches.resize(1);
  const DecisiveSearch search = Make(run).FindDecisive(confirmation);
  EXPECT_FALSE(search.found);
  EXPECT_FALSE(search.complete);
}

TEST(ConfirmTest, ASmallerCaseThatFailsOnlySometimesIsNotPublished) {
  int runs = 0;
  const auto run = [&runs](const Case& c) {
    return OperationCount(c) == OperationCount(Original()) || ++runs % 3 != 0 ? Failed() : Clean();
  };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  const Case before = confirmation.published;
  Make(run).Shrink(confirmation, [](const Confirmation& c) {
    ADD_FAILURE() << "kept a case of " << OperationCount(c.published) << " operations";
    return true;
  });
  EXPECT_EQ(confirmation.published, before);
}

TEST(ConfirmTest, WhatHasBecomeSmallerIsKeptOnTheWay) {
  const auto run = [](const Case& c) { return OperationCount(c) > 0 ? Failed() : Clean(); };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  std::vector<Case> kept;
  const auto keep = [&kept](const Confirmation& c) {
    EXPECT_TRUE(c.confirmed);
    kept.push_back(c.published);
    return true;
  };
  Confirmer eager(run, SignatureOf, [] { return false; }, {.keep = milliseconds(0)});
  EXPECT_TRUE(eager.Shrink(confirmation, keep));
  ASSERT_GT(kept.size(), 1U);
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_LT(SizeOf(kept[i]), SizeOf(kept[i - 1]));
  EXPECT_EQ(kept.back(), confirmation.published);
}

TEST(ConfirmTest, WhenNobodyWaitsAnyMoreWhatWasKeptIsTheResult) {
  bool abandoned = false;
  const auto run = [](const Case& c) { return OperationCount(c) > 0 ? Failed() : Clean(); };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  Case kept;
  const auto keep = [&](const Confirmation& c) {
    EXPECT_FALSE(abandoned);
    abandoned = true;
    kept = c.published;
    return true;
  };
  Confirmer eager(run, SignatureOf, [&abandoned] { return abandoned; }, {.keep = milliseconds(0)});
  EXPECT_FALSE(eager.Shrink(confirmation, keep));
  EXPECT_EQ(confirmation.published, kept);
}

TEST(ConfirmTest, WhatCannotBeKeptIsNotTheResult) {
  const auto run = [](const Case& c) { return OperationCount(c) > 0 ? Failed() : Clean(); };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  const Case before = confirmation.published;
  Make(run).Shrink(confirmation, [](const Confirmation&) { return false; });
  EXPECT_EQ(confirmation.published, before);
}

TEST(ConfirmTest, WhenTheSmallestCaseFailsByLuckALargerOneIsPublished) {
  int lonely_runs = 0;
  const auto run = [&lonely_runs](const Case& c) {
    if (OperationCount(c) == 0) return Clean();
    return OperationCount(c) > 1 || ++lonely_runs == 1 ? Failed() : Clean();
  };
  Confirmation confirmation = Make(run).Confirm(Original(), Failed());
  Make(run).Shrink(confirmation, kAlways);
  EXPECT_EQ(OperationCount(confirmation.published), 2U) << "one operation fails only once";
}

TEST(ConfirmTest, OtherSchedulesDifferAndKeepTheProgram) {
  std::set<std::vector<std::uint8_t>> seeds;
  std::set<Strategy> strategies;
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Case c = OtherSchedule(Original(), n);
    EXPECT_EQ(c.threads, Original().threads);
    EXPECT_EQ(c, OtherSchedule(Original(), n));
    seeds.insert(c.bytes);
    strategies.insert(c.strategy);
  }
  EXPECT_EQ(seeds.size(), 100U);
  EXPECT_EQ(strategies.size(), 4U);
}

}  // namespace
}  // namespace handoff
