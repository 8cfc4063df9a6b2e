#include "harness/case/case.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/case/random_case.h"

namespace handoff {
namespace {

using testing::IsValid;
using testing::kAlphabet;
using testing::RandomCases;

Case TwoThreads() {
  return {.threads = {{{.code = 0, .arguments = {2, 1}}, {.code = 2}}, {{.code = 1, .arguments = {1}}}}, .bytes = {7, 8}};
}

TEST(CaseTest, OperationsOfAllThreadsAreCounted) {
  EXPECT_EQ(OperationCount(Case{}), 0U);
  EXPECT_EQ(OperationCount(TwoThreads()), 3U);
}

TEST(CaseTest, AnArgumentThatIsNotCountedIsAMistake) {
  EXPECT_EQ(MistakeIn(kAlphabet), "");
  EXPECT_EQ(MistakeIn({}), "expected at least one operation, found none");
  const OperationKind kinds[] = {{.name = "get", .arguments = {{{.name = "key"}, {.name = "slot"}}}, .argument_count = 1}};
  EXPECT_EQ(MistakeIn({kinds}), "expected argument_count 2 of operation get, as many as it names, found 1");
}

std::string MistakeInArguments(const Argument& a, const Argument& b) {
  const OperationKind kinds[] = {{.name = "get", .arguments = {{a, b}}, .argument_count = 2}};
  return MistakeIn({kinds});
}

TEST(CaseTest, NamesTellOperationsApart) {
  const OperationKind twice[] = {{.name = "get"}, {.name = "put"}, {.name = "get"}};
  EXPECT_EQ(MistakeIn({twice}), "expected a name of its own for each operation, found get twice");
  const OperationKind without[] = {{.name = "get"}, {.name = ""}};
  EXPECT_EQ(MistakeIn({without}), "expected a name of its own for each operation, found one without");
  const OperationKind spaced[] = {{.name = "get it"}};
  EXPECT_EQ(MistakeIn({spaced}),
            "expected a name of its own for each operation, found 'get it', with a character that separates");
  EXPECT_EQ(MistakeInArguments({.name = "key"}, {.name = "key"}),
            "expected a name of its own for each argument of operation get, found key twice");
}

TEST(CaseTest, AnArgumentHasValues) {
  EXPECT_EQ(MistakeInArguments({.name = "key", .values = 256}, {.name = "slot", .values = 1}), "");
  EXPECT_EQ(MistakeInArguments({.name = "key", .values = 0}, {.name = "slot"}),
            "expected 1 to 256 values of argument key of operation get, found 0");
  EXPECT_EQ(MistakeInArguments({.name = "key", .values = 257}, {.name = "slot"}),
            "expected 1 to 256 values of argument key of operation get, found 257");
  const std::string_view names[] = {"old", "new", "old"};
  EXPECT_EQ(MistakeInArguments({.name = "key"}, {.name = "age", .value_names = names}),
            "expected a name of its own for each value of argument age of operation get, found old twice");
}

TEST(CaseTest, TheSeedIsTheSameOnEveryPlatform) {
  EXPECT_EQ(Seed(Case{}), 0xd0af2a8febabe7aaU);
  EXPECT_EQ(Seed(TwoThreads()), 0xd3c99d7988b72a7dU);
}

TEST(CaseTest, TheSeedDependsOnEverythingButTheSwitches) {
  std::vector<Case> cases(10, TwoThreads());
  cases[1].strategy = Strategy::kPos;
  cases[2].granularity = Granularity::kOp;
  cases[3].parameter = 1;
  cases[4].threads[0][0].code = 1;
  cases[5].threads[0][0].arguments[3] = 1;
  cases[6].threads.emplace_back();
  cases[7].threads = {{cases[0].threads[0][0]}, {cases[0].threads[0][1], cases[0].threads[1][0]}};  // moved from A to B
  cases[8].bytes[1] = 9;
  cases[9].bytes.push_back(0);
  std::set<std::uint64_t> seeds;
  for (const Case& c : cases) seeds.insert(Seed(c));
  EXPECT_EQ(seeds.size(), cases.size());

  Case recorded = TwoThreads();
  recorded.switches = {{.thread = 0, .to = 1}};
  EXPECT_EQ(Seed(recorded), Seed(TwoThreads()));
}

TEST(CaseTest, AValidCaseIsLeftAsItIs) {
  for (const Case& c : RandomCases(20)) {
    ASSERT_TRUE(IsValid(c));
    Case again = c;
    Normalize(kAlphabet, again);
    EXPECT_EQ(again, c);
  }
}

TEST(CaseTest, EveryLimitIsEnforced) {
  Case c;
  c.strategy = static_cast<Strategy>(kStrategies);
  c.granularity = static_cast<Granularity>(kGranularities);
  c.threads.assign(kMaxThreads + 1, std::vector<Operation>(10, {.code = 0xff, .arguments = {0xff, 0xff, 0xff, 0xff}}));
  c.bytes.resize(kMaxScheduleBytes + 1);
  c.switches.resize(kMaxSwitches + 1, {.thread = 0xfe, .to = 0xff});
  Case listed = c;
  listed.strategy = Strategy::kListed;

  Normalize(kAlphabet, c);
  EXPECT_TRUE(IsValid(c));
  EXPECT_EQ(c.threads.size(), static_cast<std::size_t>(kMaxThreads));
  EXPECT_EQ(OperationCount(c), static_cast<std::size_t>(kMaxOperations));
  EXPECT_EQ(c.bytes.size(), kMaxScheduleBytes);

  Normalize(kAlphabet, listed);
  EXPECT_TRUE(IsValid(listed));
  EXPECT_EQ(listed.switches.size(), kMaxSwitches);
}

// A thread that the program creates is none of the program's, and must not become one.
TEST(CaseTest, SwitchesFromAndToCreatedThreadsStay) {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads.resize(2);
  c.switches = {{.thread = 1, .to = 2, .at = {.operation = 2, .sync = 2}},
                {.thread = 2, .to = kMaxScheduled - 1, .at = {.sync = 4}}};
  const Case before = c;
  Normalize(kAlphabet, c);
  EXPECT_EQ(c, before);
}

TEST(CaseTest, ACaseWithoutThreadsGetsTwo) {
  Case c;
  Normalize(kAlphabet, c);
  EXPECT_EQ(c.threads.size(), 2U);
}

TEST(CaseTest, AnEmptyAlphabetLeavesNoOperations) {
  Case c = TwoThreads();
  Normalize(Alphabet{}, c);
  EXPECT_EQ(OperationCount(c), 0U);
}

}  // namespace
}  // namespace handoff
