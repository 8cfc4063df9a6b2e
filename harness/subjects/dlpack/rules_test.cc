#include "harness/subjects/dlpack/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace handoff::dlpack {
namespace {

TEST(RulesTest, AllFortyRulesAreThereInOrder) {
  int expected = 1;
  for (const Rule& rule : Rules()) {
    const std::string number(rule.number);
    if (number == "R" + std::to_string(expected)) ++expected;
    EXPECT_EQ(number.rfind("R" + std::to_string(expected - 1), 0), 0U) << number << " is out of order";
  }
  EXPECT_EQ(expected, 41);
}

TEST(RulesTest, NoRuleIsThereTwice) {
  std::set<std::string_view> numbers;
  for (const Rule& rule : Rules()) EXPECT_TRUE(numbers.insert(rule.number).second) << rule.number;
}

TEST(RulesTest, ARuleIsShownToBiteOrSaysWhyItCannot) {
  for (const Rule& rule : Rules()) {
    EXPECT_FALSE(rule.text.empty()) << rule.number;
    EXPECT_FALSE(rule.shown.empty()) << rule.number;
    EXPECT_EQ(rule.check.empty(), rule.shown.find(' ') != std::string_view::npos) << rule.number;
  }
}

}  // namespace
}  // namespace handoff::dlpack
