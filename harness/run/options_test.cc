#include "harness/run/options.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <string>

namespace handoff {
namespace {

constexpr std::array<Twin, 2> kTwins = {{{"racy", "", ""}, {"leaky", "", ""}}};

std::map<std::string, std::string>& Variables() {
  static std::map<std::string, std::string> variables;
  return variables;
}
const char* Get(const char* name) {
  const auto at = Variables().find(name);
  return at == Variables().end() ? nullptr : at->second.c_str();
}

std::variant<Options, std::string> Read(const std::vector<std::string>& arguments, std::map<std::string, std::string> variables,
                                        schedule::Carrier carrier = schedule::Carrier::kFiber) {
  Variables() = std::move(variables);
  Target target;
  target.name = "box";
  target.twins = kTwins;
  target.carrier = carrier;
  return ReadOptions(target, arguments, &Get);
}
Options Accepted(const std::vector<std::string>& arguments, std::map<std::string, std::string> variables = {}) {
  const auto read = Read(arguments, std::move(variables));
  if (const auto* error = std::get_if<std::string>(&read)) ADD_FAILURE() << *error;
  return std::holds_alternative<Options>(read) ? std::get<Options>(read) : Options{};
}
std::string Refused(std::map<std::string, std::string> variables, schedule::Carrier carrier = schedule::Carrier::kFiber) {
  const auto read = Read({}, std::move(variables), carrier);
  return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "accepted";
}
std::string ExistingFile(const std::string& name) {
  std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << "x";
  return path;
}

TEST(OptionsTest, WithoutAnythingTheTargetsOwnValuesHold) {
  const Options options = Accepted({});
  EXPECT_FALSE(HasOverrides(options));
  EXPECT_EQ(options.twin, -1);
  EXPECT_EQ(options.carrier, schedule::Carrier::kFiber);
  EXPECT_EQ(options.timeout_seconds, 25);
  EXPECT_TRUE(options.files.empty());
}

TEST(OptionsTest, AFileThatIsNotThereIsRefused) {
  const auto read = Read({"-runs=1", "nosuch.txt"}, {});
  ASSERT_TRUE(std::holds_alternative<std::string>(read));
  EXPECT_EQ(std::get<std::string>(read), "nosuch.txt: expected a case file or a folder of them, found nothing");
}

TEST(OptionsTest, AVariableThatIsAlmostOneOfOursIsRefused) {
  const auto misspelt = [](const char* entry) {
    const char* const environment[] = {"PATH=/bin", entry, nullptr};
    return MisspeltVariable(environment);
  };
  EXPECT_EQ(misspelt("HANDOFF_TWN=leaky"), "HANDOFF_TWN: no such variable. Did you mean HANDOFF_TWIN?");
  EXPECT_EQ(misspelt("HANDOFF_STATEGY=pct"), "HANDOFF_STATEGY: no such variable. Did you mean HANDOFF_STRATEGY?");
  EXPECT_EQ(misspelt("HANDOFF_TWIN=leaky"), "");
  EXPECT_EQ(misspelt("HANDOFF_FOLDER=/usr"), "") << "its owner's";
  EXPECT_EQ(misspelt("NO_HANDOFF_TWN=1"), "");
}

TEST(OptionsTest, LibFuzzersFlagsAreRead) {
  const Options options = Accepted({"-artifact_prefix=out/", "-timeout=3", "-runs=100", "-exact_artifact_path=x", "-seed=1"});
  EXPECT_EQ(options.artifact_prefix, "out/");
  EXPECT_EQ(options.exact_artifact_path, "x");
  EXPECT_EQ(options.timeout_seconds, 3);
  EXPECT_EQ(options.runs, 100);
}

TEST(OptionsTest, NamedValuesAreRead) {
  const Options options = Accepted({}, {{"HANDOFF_STRATEGY", "pct"},
                                        {"HANDOFF_GRANULARITY", "sync"},
                                        {"HANDOFF_PARAMETER", "3"},
                                        {"HANDOFF_TWIN", "leaky"},
                                        {"HANDOFF_CONFIRM_SECONDS", "30"},
                                        {"HANDOFF_CARRIER", "thread"}});
  EXPECT_EQ(options.strategy, Strategy::kPct);
  EXPECT_EQ(options.granularity, Granularity::kSync);
  EXPECT_EQ(options.parameter, 3);
  EXPECT_EQ(options.twin, 1);
  EXPECT_EQ(options.confirm_seconds, 30);
  EXPECT_EQ(options.carrier, schedule::Carrier::kThread);
}

TEST(OptionsTest, FilesArePrintedWhenAskedFor) {
  EXPECT_FALSE(Accepted({}).print_text);
  EXPECT_TRUE(Accepted({}, {{"HANDOFF_PRINT_TEXT", "1"}}).print_text);
}

TEST(OptionsTest, WhatIsUnknownListsWhatIsValid) {
  EXPECT_EQ(Refused({{"HANDOFF_STRATEGY", "fair"}}),
            "HANDOFF_STRATEGY: expected one of bytes, random, pct, pos, surw, listed, free, found 'fair'");
  EXPECT_EQ(Refused({{"HANDOFF_TWIN", "r"}}),
            "HANDOFF_TWIN: expected one of racy, leaky (or unset, for the safe one), found 'r'");
  EXPECT_EQ(Refused({{"HANDOFF_DESCRIBE", "yes"}}), "HANDOFF_DESCRIBE: expected 0 or 1, found 'yes'");
  EXPECT_EQ(Refused({{"HANDOFF_PRINT_TEXT", "0"}}), "accepted");
  EXPECT_EQ(Refused({{"HANDOFF_PARAMETER", "256"}}), "HANDOFF_PARAMETER: expected a number from 0 to 255, found '256'");
  EXPECT_EQ(Refused({{"HANDOFF_CONFIRM_SECONDS", "0"}}), "HANDOFF_CONFIRM_SECONDS: expected a number from 1 to 3600, found '0'");
  EXPECT_EQ(Refused({{"HANDOFF_GRANULARITY", "line"}}), "HANDOFF_GRANULARITY: expected one of op, sync, access, found 'line'");
}

TEST(OptionsTest, WhatNeedsThreadsDoesNotRunOnFibers) {
  EXPECT_NE(Refused({{"HANDOFF_CARRIER", "fiber"}}, schedule::Carrier::kThread).find("needs threads"), std::string::npos);
}

TEST(OptionsTest, FilesAreReplayedButNotFoldersOrWhatLibFuzzerIsToMinimise) {
  const std::string file = ExistingFile("options-case");
  EXPECT_EQ(Accepted({file, "-runs=2"}).files, std::vector<std::string>{file});
  EXPECT_TRUE(Accepted({file, ::testing::TempDir()}).files.empty());
  EXPECT_TRUE(Accepted({file, "-minimize_crash=1"}).files.empty());
  EXPECT_TRUE(Accepted({file, "-merge=1"}).files.empty());
  EXPECT_FALSE(Accepted({file, "-merge=0"}).files.empty());
}

TEST(OptionsTest, AStepOfMinimisingIsKnown) {
  const std::string file = ExistingFile("options-case");
  const Options options = Accepted({"-minimize_crash_internal_step=1", file});
  EXPECT_TRUE(options.minimizes);
  EXPECT_TRUE(options.files.empty());
}

TEST(OverrideTest, AnotherStrategyDropsWhatItDoesNotUse) {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads = {{}};
  c.switches = {{.thread = 0, .to = 0, .at = {}}};
  Options options;
  options.strategy = Strategy::kRandom;
  options.parameter = std::uint8_t{9};
  Override(options, c);
  EXPECT_EQ(c.strategy, Strategy::kRandom);
  EXPECT_EQ(c.parameter, 9);
  EXPECT_TRUE(c.switches.empty());
}

}  // namespace
}  // namespace handoff
