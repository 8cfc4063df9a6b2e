#include "harness/testing/golden.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace handoff {
namespace {

// The environment as it was, again.
class GoldenTest : public testing::Test {
 protected:
  GoldenTest() {
    if (const char* value = std::getenv("HANDOFF_UPDATE_GOLDEN")) before_ = value;
    unsetenv("HANDOFF_UPDATE_GOLDEN");
  }
  ~GoldenTest() override {
    if (!before_.empty()) setenv("HANDOFF_UPDATE_GOLDEN", before_.c_str(), 1);
    std::filesystem::remove(file_);
  }
  const std::string file_ = testing::TempDir() + "handoff_golden_" + std::to_string(getpid()) + ".txt";

 private:
  std::string before_;
};

TEST_F(GoldenTest, WhatWasWrittenIsExpectedFromThenOn) {
  setenv("HANDOFF_UPDATE_GOLDEN", "1", 1);
  ExpectGolden("one\ntwo\n", file_);
  unsetenv("HANDOFF_UPDATE_GOLDEN");
  ExpectGolden("one\ntwo\n", file_);
  EXPECT_EQ(ReadTestFile(file_), "one\ntwo\n");
}

TEST_F(GoldenTest, ADifferenceFailsAndSaysHowToRefresh) {
  setenv("HANDOFF_UPDATE_GOLDEN", "1", 1);
  ExpectGolden("one\n", file_);
  unsetenv("HANDOFF_UPDATE_GOLDEN");
  EXPECT_NONFATAL_FAILURE(ExpectGolden("two\n", file_), "HANDOFF_UPDATE_GOLDEN=1");
}

TEST_F(GoldenTest, AMissingTextFails) { EXPECT_NONFATAL_FAILURE(ReadTestFile(file_), "expected a readable file"); }

}  // namespace
}  // namespace handoff
