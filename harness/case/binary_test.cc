#include "harness/case/binary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "harness/case/random_case.h"

namespace {
int allocations = 0;  // of this program
}  // namespace

// Sanitizers bring their own operators: allocations are counted in the builds without one.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HANDOFF_CANNOT_COUNT
#endif
#endif
#ifndef HANDOFF_CANNOT_COUNT
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Not inlined: GCC would take the pairs apart, and warn of a new that is freed.
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace handoff {
namespace {

using testing::IsValid;
using testing::kAlphabet;
using testing::RandomBytes;
using testing::RandomCases;
using Bytes = std::vector<std::uint8_t>;

TEST(BinaryTest, DecodingAnEncodedCaseGivesItBack) {
  for (const Case& c : RandomCases(50)) {
    const Bytes encoded = EncodeCase(c);
    EXPECT_EQ(encoded.size(), EncodedSize(c));
    EXPECT_EQ(DecodeCase(kAlphabet, encoded), c);
  }
}

TEST(BinaryTest, DecodingAnyBytesGivesAValidCase) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const Bytes bytes = RandomBytes(random, random() % (i % 100 == 0 ? 3000 : 200));
    const Case c = DecodeCase(kAlphabet, bytes);
    ASSERT_TRUE(IsValid(c));
    EXPECT_EQ(DecodeCase(kAlphabet, EncodeCase(c)), c);
  }
}

TEST(BinaryTest, EveryBeginningOfACaseIsACase) {
  for (const Case& c : RandomCases(2)) {
    const Bytes encoded = EncodeCase(c);
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      EXPECT_TRUE(IsValid(DecodeCase(kAlphabet, std::span(encoded).first(size))));
    }
  }
}

TEST(BinaryTest, EveryFirstByteIsACase) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_TRUE(IsValid(DecodeCase(kAlphabet, Bytes{static_cast<std::uint8_t>(byte)})));
  }
}

TEST(BinaryTest, NothingDecodesToTwoIdleThreads) {
  Case expected;
  expected.threads.resize(2);
  EXPECT_EQ(DecodeCase(kAlphabet, {}), expected);
}

TEST(BinaryTest, DecodingIntoAnyCaseGivesTheSame) {
  Case reused;
  for (const Case& c : RandomCases(10)) {
    DecodeCase(kAlphabet, EncodeCase(c), reused);
    EXPECT_EQ(reused, c);
  }
}

TEST(BinaryTest, DecodingIntoTheSameCaseStopsAllocating) {
  std::vector<Bytes> inputs;
  for (const Case& c : RandomCases(10)) inputs.push_back(EncodeCase(c));
  Case reused;
  for (const Bytes& input : inputs) DecodeCase(kAlphabet, input, reused);
  const int before = allocations;
  for (const Bytes& input : inputs) DecodeCase(kAlphabet, input, reused);
  EXPECT_EQ(allocations, before);
}

TEST(BinaryTest, TheFirstDecodingMakesRoomForAnyOperations) {
  const Bytes longest = EncodeCase({.threads = {{}, std::vector<Operation>(kMaxOperations)}});
  Case reused;
  DecodeCase(kAlphabet, {}, reused);
  const int before = allocations;
  DecodeCase(kAlphabet, longest, reused);
  EXPECT_EQ(allocations, before);
}

// These bytes are in people's corpora. A new version of the format adds tests and leaves these alone.
TEST(BinaryTest, VersionOneIsReadForEver) {
  const Bytes program = {0xca, 0x5e, 1, 2, 1, 3, 9, 2,  // pct, sync, 3 threads, parameter 9, 2 operations
                         2,    0,    2, 1, 0, 0,        // C export slot=2 kind=versioned
                         0,    3,    1, 7, 0, 1,        // A write slot=1 value=7 only=0 bit=1
                         0x0a, 0xff};
  const Case expected{.strategy = Strategy::kPct,
                      .granularity = Granularity::kSync,
                      .parameter = 9,
                      .threads = {{{.code = 3, .arguments = {1, 7, 0, 1}}}, {}, {{.code = 0, .arguments = {2, 1}}}},
                      .bytes = {0x0a, 0xff}};
  EXPECT_EQ(DecodeCase(kAlphabet, program), expected);
}

TEST(BinaryTest, VersionOneListsSwitchesForEver) {
  const Bytes listed = {0xca, 0x5e, 1, 5, 2, 2, 0, 0,        // listed, access, 2 threads
                        0xff, 1,    0, 0, 0, 0, 0, 0, 0, 0,  // start B
                        1,    0,    2, 0, 1, 2, 4, 3, 2, 1,  // switch B 2.513+16909060 to A
                        9,    9};                            // half a switch
  const Case expected{.strategy = Strategy::kListed,
                      .threads = {{}, {}},
                      .switches = {{.thread = kGate, .to = 1},
                                   {.thread = 1, .to = 0, .at = {.operation = 2, .sync = 513, .access = 0x01020304}}}};
  EXPECT_EQ(DecodeCase(kAlphabet, listed), expected);
}

TEST(BinaryTest, ValuesOutOfRangeCountModuloTheirRange) {
  const Bytes bytes = {0,
                       0,
                       0,
                       kStrategies + 1,
                       kGranularities,
                       11,
                       0,
                       kMaxOperations + 2,  // random, op, 3 threads, 1 operation
                       4,
                       6,
                       5,
                       9,
                       9,
                       9};  // B consume slot=2
  const Case expected{
      .strategy = Strategy::kRandom, .granularity = Granularity::kOp, .threads = {{}, {{.code = 1, .arguments = {2}}}, {}}};
  EXPECT_EQ(DecodeCase(kAlphabet, bytes), expected);
}

}  // namespace
}  // namespace handoff
