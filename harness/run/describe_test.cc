#include "harness/run/describe.h"

#include <gtest/gtest.h>

#include <array>

namespace handoff {
namespace {

TEST(DescribeTest, ATargetIsOneLineOfJson) {
  static constexpr std::array<OperationKind, 2> kOperations = {
      {{.name = "put", .arguments = {{{.name = "slot", .values = 4}}}, .argument_count = 1}, {.name = "drop"}}};
  static constexpr std::array<Twin, 1> kTwins = {{{"racy", "says \"no\" lock", "thread"}}};
  Target target;
  target.name = "box";
  target.summary = "Puts.";
  target.alphabet = {kOperations};
  target.twins = kTwins;
  const std::string json = Describe(target);
  EXPECT_EQ(json.find("{\"name\": \"box\", \"summary\": \"Puts.\", \"carrier\": \"fiber\", \"sanitizer\": "), 0U) << json;
  EXPECT_NE(json.find("\"operations\": [{\"name\": \"put\", \"arguments\": [{\"name\": \"slot\", \"values\": 4}]}, "
                      "{\"name\": \"drop\", \"arguments\": []}], "
                      "\"twins\": [{\"name\": \"racy\", \"breach\": \"says \\\"no\\\" lock\", \"detector\": \"thread\"}]}"),
            std::string::npos)
      << json;
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(DescribeTest, AnArgumentsNamesAreListed) {
  static constexpr std::array<std::string_view, 2> kNames = {"left", "right"};
  static constexpr std::array<OperationKind, 1> kOperations = {
      {{.name = "put", .arguments = {{{.name = "side", .values = 2, .value_names = kNames}}}, .argument_count = 1}}};
  Target target;
  target.alphabet = {kOperations};
  EXPECT_NE(Describe(target).find("{\"name\": \"side\", \"values\": 2, \"value_names\": [\"left\", \"right\"]}"),
            std::string::npos);
}

TEST(DescribeTest, ControlCharactersAreEscaped) { EXPECT_EQ(Quoted("a\n\\"), "\"a\\u000a\\\\\""); }

}  // namespace
}  // namespace handoff
