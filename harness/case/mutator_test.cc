#include "harness/case/mutator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "harness/case/binary.h"
#include "harness/case/random_case.h"
#include "harness/case/text.h"

namespace handoff {
namespace {

using testing::IsValid;
using testing::kAlphabet;
using testing::kOperations;
using testing::RandomBytes;
using testing::RandomCases;
using Bytes = std::vector<std::uint8_t>;

// Stands for LLVMFuzzerMutate: adds a byte if there is room, and changes the first.
std::size_t AddByte(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  EXPECT_LE(size, max_size);
  EXPECT_GT(max_size, 0U);
  if (size < max_size) data[size++] = 0x5a;
  ++data[0];
  return size;
}

// Copies the input into a buffer of exactly the promised size, so that AddressSanitizer sees writes behind it.
Bytes Mutate(const Bytes& input, std::size_t max_size, unsigned seed) {
  Bytes buffer = input;
  buffer.resize(std::max(input.size(), max_size));
  buffer.resize(MutateCase(kAlphabet, buffer.data(), input.size(), max_size, seed, AddByte));
  return buffer;
}

Bytes Cross(const Bytes& first, const Bytes& second, std::size_t max_size, unsigned seed) {
  Bytes out(max_size);
  out.resize(CrossCases(kAlphabet, first, second, out.data(), max_size, seed));
  return out;
}

// What `count` mutations of `input`, one after the other, pass through.
std::vector<Case> Walk(Bytes input, unsigned count) {
  std::vector<Case> cases;
  for (unsigned seed = 0; seed < count; ++seed) {
    input = Mutate(input, 400, seed);
    cases.push_back(DecodeCase(kAlphabet, input));
  }
  return cases;
}

Bytes ToBytes(std::string_view text) { return {text.begin(), text.end()}; }

TEST(MutatorTest, EveryMutantIsAValidCaseInBinaryForm) {
  unsigned seed = 0;
  for (const Case& c : RandomCases(20)) {
    const Bytes mutant = Mutate(EncodeCase(c), 2000, ++seed);
    const Case decoded = DecodeCase(kAlphabet, mutant);
    EXPECT_TRUE(IsValid(decoded));
    EXPECT_EQ(EncodeCase(decoded), mutant);
  }
}

TEST(MutatorTest, AnyBytesCanBeMutated) {
  std::mt19937 random(4);
  for (unsigned seed = 0; seed < 5000; ++seed) {
    EXPECT_TRUE(IsValid(DecodeCase(kAlphabet, Mutate(RandomBytes(random, random() % 300), 300, seed))));
  }
}

TEST(MutatorTest, TheSameSeedGivesTheSameMutant) {
  for (const Case& c : RandomCases(3)) EXPECT_EQ(Mutate(EncodeCase(c), 500, 5), Mutate(EncodeCase(c), 500, 5));
}

TEST(MutatorTest, MutantsAndChildrenAreWholeCasesWithinTheSizeLimit) {
  const std::vector<Case> cases = RandomCases(1);
  for (std::size_t max_size = 0; max_size < 300; ++max_size) {
    const Bytes input = EncodeCase(cases[max_size % cases.size()]);
    const Bytes other = EncodeCase(cases[(max_size + 5) % cases.size()]);
    const auto seed = static_cast<unsigned>(max_size);
    for (const Bytes& output : {Mutate(input, max_size, seed), Cross(input, other, max_size, seed)}) {
      EXPECT_LE(output.size(), max_size);
      const Bytes again = EncodeCase(DecodeCase(kAlphabet, output));
      EXPECT_TRUE(again == output || max_size < EncodedSize(Case{}));
    }
  }
}

TEST(MutatorTest, AboutAThirdOfTheMutantsAreSmaller) {
  int smaller = 0;
  unsigned seed = 0;
  const std::vector<Case> cases = RandomCases(50);
  for (const Case& c : cases) smaller += Mutate(EncodeCase(c), 4000, ++seed).size() < EncodedSize(c) ? 1 : 0;
  const double share = smaller / static_cast<double>(cases.size());
  EXPECT_GT(share, 0.25);
  EXPECT_LT(share, 0.45);
}

// What libFuzzer does to minimise: the limit is one byte below the smallest failing input. Here, everything fails.
TEST(MutatorTest, EveryCaseCanShrinkToNothing) {
  for (const Case& c : RandomCases(2)) {
    Bytes smallest = EncodeCase(c);
    for (unsigned seed = 0; smallest.size() > 8 && seed < 5000; ++seed) smallest = Mutate(smallest, smallest.size() - 1, seed);
    EXPECT_EQ(OperationCount(DecodeCase(kAlphabet, smallest)), 0U);
    EXPECT_EQ(smallest.size(), 8U);
    // At that size only threads are left to remove.
    std::size_t threads = kMaxThreads;
    for (unsigned seed = 0; threads > 1 && seed < 1000; ++seed) {
      smallest = Mutate(smallest, 8, seed);
      threads = std::min(threads, DecodeCase(kAlphabet, smallest).threads.size());
    }
    EXPECT_EQ(threads, 1U);
  }
}

TEST(MutatorTest, MutationReachesEveryOperationArgumentThreadAndSetting) {
  std::set<int> codes;
  std::set<int> threads;
  std::set<int> values;
  std::set<Strategy> strategies;
  std::set<Granularity> granularities;
  for (const Case& c : Walk({}, 50000)) {
    strategies.insert(c.strategy);
    granularities.insert(c.granularity);
    threads.insert(static_cast<int>(c.threads.size()));
    for (const auto& thread : c.threads) {
      for (const Operation& operation : thread) {
        codes.insert(operation.code);
        if (operation.code == 3) values.insert(operation.arguments[1]);
      }
    }
  }
  EXPECT_EQ(codes, (std::set<int>{0, 1, 2, 3}));  // 4 has no weight
  EXPECT_EQ(threads, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values.size(), 256U);
  EXPECT_EQ(granularities.size(), 3U);
  EXPECT_EQ(strategies,
            (std::set<Strategy>{Strategy::kBytes, Strategy::kRandom, Strategy::kPct, Strategy::kPos, Strategy::kSurw}));
}

TEST(MutatorTest, OperationsComeAsOftenAsTheirWeightsSay) {
  std::array<int, kOperations.size()> count{};
  for (unsigned seed = 0; seed < 20000; ++seed) {
    for (const auto& thread : DecodeCase(kAlphabet, Mutate({}, 400, seed)).threads) {
      for (const Operation& operation : thread) ++count[operation.code];
    }
  }
  EXPECT_NEAR(count[1] / static_cast<double>(count[0]), 3.0, 0.3);
  EXPECT_NEAR(count[2] / static_cast<double>(count[0]), 1.0, 0.15);
}

TEST(MutatorTest, StrategiesComeAsOftenAsThePortfolioSays) {
  const Bytes input = ToBytes("handoff case 1\nstrategy free\n");
  std::array<int, kStrategies> count{};
  for (unsigned seed = 0; seed < 100000; ++seed) {
    ++count[static_cast<std::size_t>(DecodeCase(kAlphabet, Mutate(input, 400, seed)).strategy)];
  }
  const double drawn = 100000 - count[static_cast<std::size_t>(Strategy::kFree)];
  ASSERT_GT(drawn, 2000);
  const auto percent = [&](Strategy strategy) { return 100 * count[static_cast<std::size_t>(strategy)] / drawn; };
  EXPECT_NEAR(percent(Strategy::kBytes), 40, 3);
  EXPECT_NEAR(percent(Strategy::kPos), 20, 3);
  EXPECT_NEAR(percent(Strategy::kSurw), 15, 3);
  EXPECT_NEAR(percent(Strategy::kRandom), 15, 3);
  EXPECT_NEAR(percent(Strategy::kPct), 10, 3);
  EXPECT_EQ(percent(Strategy::kListed), 0);
}

// Else a campaign whose seeds are such lists would try nothing but lists. Five in a row, as libFuzzer mutates.
TEST(MutatorTest, AListOfSwitchesChangesAndIsLeftForOtherStrategies) {
  const Bytes input = ToBytes("handoff case 1\nstrategy listed\ngranularity sync\nA drop\nB drop\nswitch A 0.0 to B\n");
  constexpr unsigned kChains = 2000;
  std::set<std::size_t> sizes;
  std::set<std::uint16_t> syncs;
  std::set<Strategy> strategies;
  std::set<Granularity> granularities;
  unsigned listed = 0;
  for (unsigned chain = 0; chain < kChains; ++chain) {
    Bytes bytes = input;
    for (unsigned i = 0; i < 5; ++i) bytes = Mutate(bytes, 1000, 5 * chain + i);
    const Case c = DecodeCase(kAlphabet, bytes);
    strategies.insert(c.strategy);
    granularities.insert(c.granularity);
    if (c.strategy != Strategy::kListed) {
      EXPECT_TRUE(c.switches.empty());
      continue;
    }
    ++listed;
    sizes.insert(c.switches.size());
    for (const Switch& s : c.switches) syncs.insert(s.at.sync);
  }
  EXPECT_NEAR(listed / static_cast<double>(kChains), 0.5, 0.2);
  EXPECT_EQ(strategies.size(), 6U) << "all but free";
  EXPECT_EQ(granularities.size(), 3U);
  EXPECT_GT(sizes.size(), 3U);
  EXPECT_GT(syncs.size(), 5U);
}

TEST(MutatorTest, ATextCaseIsMutatedAsTheSameBinaryCase) {
  for (const Case& c : RandomCases(2)) {
    EXPECT_EQ(Mutate(ToBytes(PrintCase(kAlphabet, c)), 1000, 6), Mutate(EncodeCase(c), 1000, 6));
  }
}

TEST(MutatorTest, ATextCaseWithAnErrorCountsAsEmpty) {
  EXPECT_EQ(Mutate(ToBytes("handoff case 1\nA nonsense"), 1000, 7), Mutate({}, 1000, 7));
}

TEST(MutatorTest, AChildHasTheOperationsOfItsParents) {
  const Bytes first = ToBytes("handoff case 1\nthreads 2\nA export slot=1\nB export slot=1\nbytes 11111111");
  const Bytes second = ToBytes("handoff case 1\nthreads 2\nA consume slot=2\nB consume slot=2\nbytes 22222222");
  int mixed_programs = 0;
  int mixed_schedules = 0;
  int recombined = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Case child = DecodeCase(kAlphabet, Cross(first, second, 400, seed));
    std::set<int> codes;
    for (const auto& thread : child.threads) {
      for (const Operation& operation : thread) codes.insert(operation.code);
    }
    const std::set<int> bytes(child.bytes.begin(), child.bytes.end());
    EXPECT_TRUE(std::ranges::includes(std::set<int>{0, 1}, codes));
    EXPECT_TRUE(std::ranges::includes(std::set<int>{0x11, 0x22}, bytes));
    mixed_programs += codes.size() == 2 ? 1 : 0;
    mixed_schedules += bytes.size() == 2 ? 1 : 0;
    recombined += codes == std::set<int>{0} && bytes == std::set<int>{0x22} ? 1 : 0;
  }
  EXPECT_GT(mixed_programs, 50);
  EXPECT_GT(mixed_schedules, 50);
  EXPECT_GT(recombined, 50);
}

TEST(MutatorTest, AnyParentsHaveAValidChild) {
  std::mt19937 random(8);
  for (unsigned seed = 0; seed < 5000; ++seed) {
    const Bytes first = RandomBytes(random, random() % 300);
    const Bytes second = RandomBytes(random, random() % 300);
    EXPECT_TRUE(IsValid(DecodeCase(kAlphabet, Cross(first, second, 500, seed))));
  }
}

}  // namespace
}  // namespace handoff
