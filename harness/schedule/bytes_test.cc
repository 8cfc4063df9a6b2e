#include <gtest/gtest.h>

#include <set>

#include "harness/schedule/event_model.h"
#include "harness/schedule/random.h"

namespace handoff::schedule {
namespace {

Plan BytesPlan(Granularity granularity, const std::vector<std::uint8_t>& bytes) {
  Plan plan;
  plan.strategy = handoff::Strategy::kBytes;
  plan.granularity = granularity;
  plan.bytes = bytes.data();
  plan.byte_count = bytes.size();
  return plan;
}

// Orders that some input of `length` bytes out of `alphabet` leads to, all inputs tried. Enough bytes, so that the tail, which
// would reach anything, has nothing to decide.
std::set<std::string> Reachable(const model::Program& program, Granularity granularity, int length,
                                const std::vector<std::uint8_t>& alphabet) {
  std::set<std::string> orders;
  std::vector<std::size_t> digits(static_cast<std::size_t>(length), 0);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(length) + 64, 0);
  for (std::size_t at = 0; at < digits.size();) {
    for (std::size_t i = 0; i < digits.size(); ++i) bytes[i] = alphabet[digits[i]];
    orders.insert(Execute(program, BytesPlan(granularity, bytes)).order);
    for (at = 0; at < digits.size() && ++digits[at] == alphabet.size(); ++at) digits[at] = 0;
  }
  return orders;
}

TEST(BytesTest, ReachEveryInterleavingOfSteps) {
  EXPECT_EQ(Reachable(model::Steps(2, 2), Granularity::kSync, 8, {0, 1}).size(), 6U);         // 4! / (2! 2!)
  EXPECT_EQ(Reachable(model::Steps(2, 3), Granularity::kSync, 10, {0, 1}).size(), 20U);       // 6! / (3! 3!)
  EXPECT_EQ(Reachable(model::Operations(3, 2), Granularity::kOp, 6, {0, 1, 2}).size(), 90U);  // 6! / (2! 2! 2!)
}

TEST(BytesTest, ReachEveryInterleavingOfAccesses) {
  model::Program program = model::Steps(2, 3);
  for (auto& thread : program.threads) {
    for (auto& event : thread.front()) event.kind = model::EventKind::kAccess;
  }
  EXPECT_EQ(Reachable(program, Granularity::kAccess, 9, {0, 1, 2}).size(), 20U);
}

TEST(BytesTest, ReachEveryPlaceAmongManyAccessesExactly) {
  model::Program program = model::Steps(2, 1);
  program.threads[0] = {model::Events(80, {model::EventKind::kAccess, 1})};
  // Distance 33 is between two bytes' values: 32, go on, 1. Then the other thread, whose end gives the baton back.
  const std::vector<std::uint8_t> bytes = {0, 32, 224, 1, 0, 0, 0, 0};
  const std::string order = Execute(program, BytesPlan(Granularity::kAccess, bytes)).order;
  EXPECT_EQ(order, std::string(32, 'A') + "B" + std::string(48, 'A'));
}

TEST(BytesTest, ZerosGiveTheDefaultSchedule) {
  const std::vector<std::uint8_t> zeros(1024, 0);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const auto granularity : {Granularity::kOp, Granularity::kSync, Granularity::kAccess}) {
      const auto outcome = Execute(model::RandomProgram(seed), BytesPlan(granularity, zeros));
      EXPECT_TRUE(outcome.switches.empty()) << seed;
    }
  }
}

TEST(BytesTest, DistancesGrowWithTheByteAndReachBeyondASpin) {
  std::int64_t last = 0;
  for (int byte = 1; byte < 256; ++byte) {
    const std::vector<std::uint8_t> bytes = {0, static_cast<std::uint8_t>(byte)};
    Strategy& strategy = BytesStrategy();
    strategy.Begin(BytesPlan(Granularity::kAccess, bytes));
    (void)strategy.Choose(Decision{.ready = 0b11});
    const std::int64_t distance = strategy.NextAccess(0, Position{}, 0);
    EXPECT_GT(distance, last) << byte;
    EXPECT_LE(distance, byte <= 32 ? byte : last + last / 16 + 1) << byte;
    last = distance;
  }
  EXPECT_GT(last, 100'000);
}

TEST(BytesTest, OneChoiceIn16EndsATimedWait) {
  int timed = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(byte)};
    Strategy& strategy = BytesStrategy();
    strategy.Begin(BytesPlan(Granularity::kSync, bytes));
    const Decision d{.kind = PointKind::kSync, .current = 0, .can_continue = true, .ready = 0b0011, .timed = 0b1100};
    timed += strategy.Choose(d) >= 2 ? 1 : 0;
  }
  EXPECT_EQ(timed, 16);
}

TEST(BytesTest, WithoutBytesBehavesLikeRandom) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Plan plan = BytesPlan(Granularity::kAccess, {});
    plan.seed = seed;
    const auto by_bytes = Execute(model::RandomProgram(seed), plan);
    plan.strategy = handoff::Strategy::kRandom;
    EXPECT_EQ(by_bytes.order, Execute(model::RandomProgram(seed), plan).order) << seed;
  }
}

TEST(BytesTest, TheSeedDecidesBehindTheBytes) {
  const std::vector<std::uint8_t> bytes = {1};  // B first
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Plan plan = BytesPlan(Granularity::kOp, bytes);
    plan.seed = seed;
    orders.insert(Execute(model::Operations(2, 2), plan).order);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"BAAB", "BABA", "BBAA"}));
}

}  // namespace
}  // namespace handoff::schedule
