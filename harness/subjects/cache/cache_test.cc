#include "harness/subjects/cache/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/subjects/cache/block.h"
#include "harness/subjects/cache/key_objects.h"
#include "harness/subjects/cache/watch.h"
#include "harness/testing/scheduled.h"
#include "harness/testing/seeds.h"

namespace handoff::cache {
namespace {

std::vector<Case> Seeds() { return SeedsOf("native_cache", NativeCache::Operations()); }

TEST(NativeCache, SeedsReachEveryOperation) { EXPECT_EQ(CodesIn(Seeds()).size(), NativeCache::Operations().operations.size()); }

TEST(NativeCache, TheSafeFormsAreSilentOnEverySeed) {
  const auto subject = NativeCache::Make(-1);
  for (const Case& c : Seeds()) RunInTurn(*subject, c);
}

TEST(NativeCache, TwinsHaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const Twin& twin : NativeCache::Twins()) names.emplace_back(twin.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

// Makes the twin of that name, and runs the cases in turn.
void RunTwin(const std::string& name, const std::vector<Case>& cases = Seeds()) {
  const auto subject = NativeCache::Make(TwinNumber(NativeCache::Twins(), name));
  for (const Case& c : cases) RunInTurn(*subject, c);
}

// The invariants that break without any interleaving; the others are the fuzzer's.
TEST(NativeCacheDeathTest, TwinsBreakTheInvariantThatTheyAreNamedAfter) {
  EXPECT_DEATH(RunTwin("replace_counts_twice"), "protocol invariant 6");
  EXPECT_DEATH(RunTwin("grows_fourfold"), "protocol invariant 7");
  EXPECT_DEATH(RunTwin("outgrown_block_cleared"), "protocol invariant 7");
  EXPECT_DEATH(RunTwin("replace_copies_table"), "protocol invariant 8");
  EXPECT_DEATH(RunTwin("shrinks_retained_table"), "protocol invariant 8");
  EXPECT_DEATH(RunTwin("replaced_value_freed"), "delete-while-held invariant 9");
  EXPECT_DEATH(RunTwin("keys_not_kept"), "wrong-value invariant 9: Object . at the address of key 0");
  EXPECT_DEATH(RunTwin("callback_under_table_lock"), "lock-order invariant 10: . runs a callback");
  EXPECT_DEATH(RunTwin("attaches_with_table_lock"), "lock-order invariant 10: . waits to attach");
  EXPECT_DEATH(RunTwin("reads_under_writers_lock"), "lock-order invariant 10: . waits for a table's lock");
  EXPECT_DEATH(RunTwin("reader_locks_after_miss"), "lock-order invariant 10: . waits for a table's lock in a lookup");
  EXPECT_DEATH(RunTwin("last_drop_keeps_owner"), "missing-delete invariant 11");
  EXPECT_DEATH(RunTwin("given_after_exit"), "missing-delete free list");
}

// The words of the verdict are those of the case.
TEST(NativeCacheDeathTest, AWrongAnswerIsToldWithTheOperationsOfTheCase) {
  const std::string text =
      "handoff case 1\nA replace table=lock_free key=0\nA replace table=lock_free key=1\nA replace table=lock_free key=0\n"
      "B resolve table=lock_free key=2 needs=0 resolver=returns\n";
  const std::vector<Case> cases = {std::get<Case>(ParseCase(NativeCache::Operations(), text, "case"))};
  EXPECT_DEATH(RunTwin("replace_in_old_table", cases),
               "linearizability invariant 1: The lookup of key 0 in B's operation 0 "
               ".resolve table=lock_free key=2 needs=0 resolver=returns. answered value A0; expected value A2. "
               "The calls on this key until then came one after another: "
               "A0 replace.A0. = none; A2 replace.A2. = A0; B0 lookup.. = A0. ");
}

// A key in a table that was made anew is another one, and is told so.
TEST(NativeCacheDeathTest, AWrongAnswerOfATableMadeAnewIsToldSo) {
  const std::string text =
      "handoff case 1\nA drop table=lock_free\nA replace table=lock_free key=0\nA replace table=lock_free key=1\n"
      "A replace table=lock_free key=0\nA lookup table=lock_free key=0\n";
  const std::vector<Case> cases = {std::get<Case>(ParseCase(NativeCache::Operations(), text, "case"))};
  EXPECT_DEATH(RunTwin("replace_in_old_table", cases),
               "The lookup of key 0 of a table made during the run, in A's operation 4 .lookup table=lock_free key=0. "
               "answered value A1; expected value A3. ");
}

const Implementation kImplementation = {1, 0, nullptr};

TEST(Block, ACountThatIsWrongBreaksInvariant6) {
  Block block(4);
  CheckBlocks(block);
  block.used = 1;
  EXPECT_DEATH(CheckBlocks(block), "invariant 6: A block of 4 buckets says that 1 are full, and 0 are");
}

TEST(Block, AKeyWhereItsHashDoesNotLeadBreaksInvariant6) {
  Block block(4);
  Bucket* right = Probe(block, KeyNumber(0), &LoadPlainly, 0).bucket;
  Bucket* wrong = right == &block.buckets[0] ? &block.buckets[1] : &block.buckets[0];
  *wrong = {&kImplementation, KeyNumber(0)};
  block.used = 1;
  EXPECT_DEATH(CheckBlocks(block), "invariant 6: A probe for the key");
}

TEST(Block, RetainedBlocksMustHalve) {
  Block block(16), before(4);
  block.previous = &before;
  EXPECT_DEATH(CheckBlocks(block), "invariant 7");
}

TEST(Block, ARetainedBlockMustStayAsItWas) {
  Block block(8), before(4);
  block.previous = &before;
  Bucket* bucket = Probe(before, KeyNumber(0), &LoadPlainly, 0).bucket;
  *bucket = {&kImplementation, KeyNumber(0)};
  before.used = 1;
  CheckBlocks(block);
  bucket->value = nullptr;
  EXPECT_DEATH(CheckBlocks(block), "invariant 7: A block of 4 buckets says that 1 are full, and 0 are.*It was outgrown");
  *bucket = {&kImplementation, KeyNumber(3)};
  EXPECT_DEATH(CheckBlocks(block), "invariant 7: A probe for the key .*It was outgrown");
}

TEST(Block, RetainedBlocksMustStaySmallerTogether) {
  Block block(4), before(4);
  block.previous = &before;
  EXPECT_DEATH(CheckBlocks(block), "invariant 8");
}

TEST(Block, ACopyFindsEveryKey) {
  Block block(16);
  for (int key = 0; key < kKeys; ++key) {
    *Probe(block, KeyNumber(key), &LoadPlainly, 0).bucket = {&kImplementation, KeyNumber(key)};
    ++block.used;
  }
  const std::unique_ptr<Block> copy(Copy(block, 32));
  CheckBlocks(*copy);
  for (int key = 0; key < kKeys; ++key) EXPECT_EQ(Probe(*copy, KeyNumber(key), &LoadPlainly, 0).value, &kImplementation);
}

TEST(Watch, AFreeDuringAUseBreaksInvariant11) {
  watch::Reset();
  watch::UseBegins(3);
  EXPECT_DEATH(watch::Freed(3), "delete-while-held invariant 11");
  watch::UseEnds(3);
  watch::Freed(3);
  EXPECT_DEATH(watch::UseBegins(3), "use-after-delete invariant 11");
  EXPECT_DEATH(watch::Freed(3), "double-delete invariant 11");
}

TEST(Watch, AnImplementationThatGoesBeforeTheTableBreaksInvariant9) {
  watch::Reset();
  EXPECT_DEATH(watch::ImplementationGone(2, 7),
               "delete-while-held invariant 9: Implementation 7 is freed while the table of owner 2");
  watch::TableGone(2);
  watch::ImplementationGone(2, 7);
}

TEST(KeyObjects, AnAddressIsGivenAwayWhenNobodyRefersToItsObject) {
  key_objects::Reset();
  EXPECT_EQ(key_objects::Retain(1), 0);
  key_objects::Renew(1);
  EXPECT_EQ(key_objects::Current(1), 0);
  key_objects::Release(1);
  key_objects::Renew(1);
  EXPECT_EQ(key_objects::Current(1), 1);
}

TEST(KeyObjects, AReferenceThatIsLeftBreaksInvariant9) {
  key_objects::Reset();
  key_objects::Retain(2);
  EXPECT_DEATH(key_objects::Judge(), "missing-delete invariant 9: 1 references to the object of key 2");
  key_objects::Release(2);
  key_objects::Judge();
}

TEST(Watch, WhatWasFoundAndIsNotAnyMoreBreaksInvariant4) {
  watch::Reset();
  const bool began_before = watch::LookupBegins(1, 4);
  watch::LookupEnds(1, 4, watch::LookupBegins(1, 4), true);
  watch::LookupEnds(1, 4, began_before, false);  // may have come first
  const bool began_after = watch::LookupBegins(1, 4);
  EXPECT_DEATH(watch::LookupEnds(1, 4, began_after, false), "wrong-value invariant 4: A lookup of key 4");
  watch::LookupEnds(1, 3, watch::LookupBegins(1, 3), false);
}

}  // namespace
}  // namespace handoff::cache
