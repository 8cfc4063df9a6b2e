#include "harness/report/stack_frame.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace handoff {
namespace {

// "module:function at place" of a line, "none" if it is no frame.
std::string Summary(std::string_view line) {
  const std::optional<Frame> frame = ParseFrame(line, "program");
  return frame ? frame->module + ":" + frame->function + " at " + frame->place : "none";
}

TEST(StackFrame, BothFormsOfALineAreRead) {
  EXPECT_EQ(Summary("    #0 ns::F<int>::G(long) /src/a/g.cc:12:3 (target+0x1f)"), "target:ns::F::G at g.cc:12");
  EXPECT_EQ(Summary("    #11 0x55d0 in ns::G(long) const /src/a/g.cc:12:3"), "program:ns::G at g.cc:12");
}

TEST(StackFrame, WhatIsUnknownIsEmpty) {
  EXPECT_EQ(Summary("#0 f <null> (/lib/_core.cpython-313t-x86_64-linux-gnu.so+0x1f) (BuildId: 12)"), "_core:f at ");
  EXPECT_EQ(Summary("#0 <null> <null> (target+0x1f)"), "target: at ");
  EXPECT_EQ(Summary("#1 f a.cc (target+0x1f)"), "target:f at a.cc");
}

TEST(StackFrame, OtherLinesAreNoFrames) {
  for (const char* line : {"", "# 1 f", "#x f", "Thread A waits for mutex #1:", "#1"}) EXPECT_EQ(Summary(line), "none") << line;
}

TEST(StackFrame, PlumbingIsNobodysOwn) {
  EXPECT_TRUE(IsOwn({.function = "bank::Transfer", .module = "target", .place = ""}));
  EXPECT_FALSE(IsOwn({.function = "pthread_mutex_lock", .module = "target", .place = ""}));
  EXPECT_FALSE(IsOwn({.function = "bank::Transfer", .module = "libc.so.6", .place = ""}));
  EXPECT_FALSE(IsOwn({.function = "", .module = "target", .place = ""}));
}

}  // namespace
}  // namespace handoff
