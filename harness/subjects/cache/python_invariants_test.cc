// The invariants of the tables inside CPython: each finding names the invariant that its twin is said to break, and the safe
// table is silent on the same case.
#include <gtest/gtest.h>

#include <string>

#include "harness/subjects/cache/python_cache.h"
#include "harness/testing/scheduled.h"

namespace handoff::cache {
namespace {

// In a child that has the interpreter, and its threads, to itself.
void Play(const std::string& twin, const std::string& program) {
  RunScheduled<PythonCache>(twin, schedule::Carrier::kThread, "strategy listed\ngranularity sync\nthreads 2\n" + program);
}

void ExpectSafe(const std::string& program) { EXPECT_EXIT(Play("", program), testing::ExitedWithCode(0), ""); }

TEST(PythonInvariantsDeathTest, ATrustedSectionBreaksInvariant1) {
  const std::string program =
      "A resolve table=section key=0 needs=1 resolver=native\nB resolve table=section key=0 needs=0 resolver=native\n"
      "switch A 0.2 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("section_assumed_held", program), "linearizability invariant 1");
}

// B puts key 1 where A has seen that key 2 would go, before A looks there for the second time.
TEST(PythonInvariantsDeathTest, ASlotThatIsLoadedAgainBreaksInvariant2) {
  const std::string program =
      "A lookup table=lock_free key=2\nB insert_default table=lock_free key=1\n"
      "switch A 0.3 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("slot_loaded_again", program), "wrong-value invariant 2: Key 2 was answered with value");
}

// A has chosen the block that B outgrows, and outgrows it as well: B's larger one is lost, and with it what B has inserted.
constexpr const char* kOutgrownTwice =
    "A insert_default table=lock_free key=0\nA insert_default table=lock_free key=1\nA insert_default table=lock_free key=3\n"
    "A lookup table=lock_free key=4\nB insert_default table=lock_free key=4\n";

TEST(PythonInvariantsDeathTest, ABlockThatIsChosenTooEarlyBreaksInvariant3) {
  const std::string program = std::string(kOutgrownTwice) + "switch A 2.1 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("block_before_lock", program), "linearizability invariant 3: The lookup of key 4");
}

TEST(PythonInvariantsDeathTest, ABlockThatIsChosenTooEarlyBreaksInvariant4) {
  const std::string program = std::string(kOutgrownTwice) + "B lookup table=lock_free key=4\nswitch A 2.1 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("block_before_lock", program), "wrong-value invariant 4: A lookup of key 4");
}

TEST(PythonInvariantsDeathTest, AnInsertionThatFailsBreaksInvariant5) {
  const std::string program =
      "A resolve table=locked key=0 needs=0 resolver=native\nB resolve table=locked key=0 needs=0 resolver=native\n"
      "switch A 0.2 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("insert_fails_when_present", program), "protocol invariant 5: A offered a value for key 0 and got none back");
}

TEST(PythonInvariantsDeathTest, AClearedBlockBreaksInvariant7) {
  const std::string program =
      "A insert_default table=lock_free key=0\nA insert_default table=lock_free key=1\nA insert_default table=lock_free key=3\n"
      "B drop table=lock_free\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("outgrown_block_cleared", program),
               "protocol invariant 7: A block of 4 buckets says that 2 are full, and 0 are");
}

TEST(PythonInvariantsDeathTest, WhatNobodyKeepsBreaksInvariant9) {
  EXPECT_DEATH(Play("value_not_kept", "A insert_default table=shared key=0\nB collect\n"), "delete-while-held invariant 9");
  // There AddressSanitizer's CPython has no free lists, and an address comes back too late for so short a program.
  if (__has_feature(address_sanitizer)) return;
  EXPECT_DEATH(Play("key_not_kept", "A fresh_key table=shared\nA fresh_key table=shared\nB collect\n"),
               "wrong-value invariant 9");
}

TEST(PythonInvariantsDeathTest, ATablesLockThatIsHeldForMoreThanALookBreaksInvariant10) {
  const std::string program =
      "A resolve table=locked key=0 needs=0 resolver=native\nB resolve table=lock_free key=0 needs=1 resolver=python\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("callback_under_table_lock", program), "lock-order invariant 10: A runs a callback while");
  EXPECT_DEATH(Play("reads_under_writers_lock", program), "lock-order invariant 10: A waits for a table's lock while");
  EXPECT_DEATH(Play("reader_locks_after_miss", program), "lock-order invariant 10: B waits for a table's lock in a lookup");
}

}  // namespace
}  // namespace handoff::cache
