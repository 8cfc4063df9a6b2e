#include "harness/run/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace handoff {
namespace {

Operation Op(std::uint8_t code) { return {.code = code, .arguments = {}}; }

// Four threads of four operations, with a switch in each operation.
Case Large() {
  Case c;
  c.strategy = Strategy::kListed;
  c.threads.resize(4);
  for (std::uint8_t thread = 0; thread < 4; ++thread) {
    for (std::uint8_t i = 0; i < 4; ++i) {
      c.threads[thread].push_back(Op(static_cast<std::uint8_t>(thread * 4 + i)));
      c.switches.push_back(
          {.thread = thread, .to = static_cast<std::uint8_t>((thread + 1) % 4), .at = {.operation = i, .sync = 1}});
    }
  }
  return c;
}

bool HasOperation(const Case& c, std::uint8_t code) {
  return std::ranges::any_of(c.threads, [code](const auto& operations) {
    return std::ranges::any_of(operations, [code](const Operation& o) { return o.code == code; });
  });
}

constexpr auto kNever = [] { return false; };

TEST(ShrinkTest, OnlyWhatTheFailureNeedsIsLeft) {
  // A switch inside operation 6, with operation 9 on another thread.
  const auto fails = [](const Case& c) {
    const auto inside = [&c](const Switch& s) { return c.threads[s.thread][s.at.operation].code == 6; };
    return HasOperation(c, 9) && std::ranges::any_of(c.switches, inside);
  };
  ASSERT_TRUE(fails(Large()));
  const Case small = Shrink(Large(), fails, kNever);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.threads.size(), 2U);
  EXPECT_EQ(OperationCount(small), 2U);
  ASSERT_EQ(small.switches.size(), 1U);
  EXPECT_EQ(small.switches[0].at.operation, 0U) << "operations before it were left out, and it was renumbered";
}

TEST(ShrinkTest, WhatNeedsEverythingStaysAsItIs) {
  const auto fails = [](const Case& c) { return c == Large(); };
  EXPECT_EQ(Shrink(Large(), fails, kNever), Large());
}

TEST(ShrinkTest, WhatFailsAnywayBecomesOneEmptyThread) {
  const Case small = Shrink(Large(), [](const Case&) { return true; }, kNever);
  EXPECT_EQ(small.threads.size(), 1U);
  EXPECT_EQ(OperationCount(small), 0U);
  EXPECT_TRUE(small.switches.empty());
}

TEST(ShrinkTest, WhenTheTimeIsOverItReturnsWhatItHas) {
  int left = 3;
  const auto fails = [&left](const Case&) { return left-- > 0; };
  const Case small = Shrink(Large(), fails, [&left] { return left <= 0; });
  EXPECT_EQ(small.threads.size(), 1U) << "three threads were left out, and nothing else was tried";
  EXPECT_EQ(OperationCount(small), 4U);
}

}  // namespace
}  // namespace handoff
