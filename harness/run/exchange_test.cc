#include "harness/run/exchange.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

namespace handoff {
namespace {

TEST(ExchangeTest, NothingIsKeptAtFirst) {
  const Exchange& exchange = *NewExchange();
  EXPECT_EQ(ReadKept(exchange).answer, Answer::kNone);
  EXPECT_FALSE(IsLeaving(exchange));
}

TEST(ExchangeTest, TheLastFileIsKept) {
  Exchange& exchange = *NewExchange();
  for (const char* path : {"a", "b", "c"}) {
    Keep(exchange, Answer::kConfirmed, path);
    EXPECT_STREQ(ReadKept(exchange).path, path);
  }
  EXPECT_EQ(ReadKept(exchange).answer, Answer::kConfirmed);
  Keep(exchange, Answer::kUnconfirmed, "d");
  EXPECT_EQ(ReadKept(exchange).answer, Answer::kUnconfirmed);
}

TEST(ExchangeTest, APathThatWasReadStaysWhileTheNextOneIsWritten) {
  Exchange& exchange = *NewExchange();
  Keep(exchange, Answer::kConfirmed, "first");
  const Kept read = ReadKeptAndLeave(exchange);
  Keep(exchange, Answer::kConfirmed, "second");
  EXPECT_STREQ(read.path, "first");
  EXPECT_TRUE(IsLeaving(exchange));
}

// What is named at the end is never a file that is removed: as the cold parent keeps one and then removes the one before, if
// nobody leaves.
TEST(ExchangeTest, WhoeverLeavesReadsAFileThatStays) {
  Exchange& exchange = *NewExchange();
  for (int round = 0; round < 500; ++round) {
    exchange.leaving = 0;
    Keep(exchange, Answer::kConfirmed, "0");
    std::string named;
    std::thread leaves([&] { named = ReadKeptAndLeave(exchange).path; });
    int removed = -1;  // the last of the files that are gone
    for (int file = 1; file < 50 && !IsLeaving(exchange); ++file) {
      Keep(exchange, Answer::kConfirmed, std::to_string(file).c_str());
      if (!IsLeaving(exchange)) removed = file - 1;
    }
    leaves.join();
    EXPECT_GT(std::stoi(named), removed);
  }
}

}  // namespace
}  // namespace handoff
