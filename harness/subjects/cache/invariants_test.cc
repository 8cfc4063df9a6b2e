// Invariants of the tables: each finding names the one that its twin is said to break, and the safe table is silent on the same
// case. Twins that the seeds find without an interleaving are in cache_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "harness/subjects/cache/cache.h"
#include "harness/testing/scheduled.h"

namespace handoff::cache {
namespace {

void Play(const std::string& twin, const std::string& program) {
  RunScheduled<NativeCache>(twin, schedule::Carrier::kFiber, "strategy listed\ngranularity sync\nthreads 2\n" + program);
}

void ExpectSafe(const std::string& program) { EXPECT_EXIT(Play("", program), testing::ExitedWithCode(0), ""); }

// B puts key 1 where A has seen that key 2 would go, before A looks there for the second time.
TEST(InvariantsDeathTest, ASlotThatIsLoadedAgainBreaksInvariant2) {
  const std::string program =
      "A lookup table=lock_free key=2\nB insert_default table=lock_free key=1\n"
      "switch A 0.3 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("slot_loaded_again", program), "wrong-value invariant 2: Key 2 was answered with implementation 1, .* key 1");
}

// The third key makes the table grow, and goes into the block that was outgrown.
TEST(InvariantsDeathTest, AKeyInAnOutgrownBlockBreaksInvariant3) {
  const std::string program =
      "A replace table=lock_free key=0\nA replace table=lock_free key=1\nA replace table=lock_free key=2\n"
      "A lookup table=lock_free key=2\nB lookup table=lock_free key=0\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("replace_in_old_table", program),
               "linearizability invariant 3: The lookup of key 2 in A's operation 3 .*answered none; expected value A2");
}

// The same, and nobody looks for the key: the block has more than half of its buckets full.
TEST(InvariantsDeathTest, AnOutgrownBlockThatIsFilledBreaksInvariant7) {
  const std::string program =
      "A replace table=lock_free key=0\nA replace table=lock_free key=1\nA replace table=lock_free key=2\n"
      "B lookup table=lock_free key=0\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("replace_in_old_table", program),
               "protocol invariant 7: A block of 4 buckets says that 3 are full, and 3 are");
}

// A has copied the block without the lock; B outgrows it as well, and its block is lost.
TEST(InvariantsDeathTest, GrowthOutsideTheLockBreaksInvariant3) {
  const std::string program =
      "A insert_default table=lock_free key=0\nA insert_default table=lock_free key=1\nA insert_default table=lock_free key=3\n"
      "A lookup table=lock_free key=4\nB insert_default table=lock_free key=4\n"
      "switch A 2.1 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("grow_outside_lock", program), "linearizability invariant 3: The lookup of key 4");
}

// B is in the block that A outgrows and clears; A has found the key before.
TEST(InvariantsDeathTest, AClearedBlockBreaksInvariant4) {
  const std::string program =
      "A insert_default table=lock_free key=0\nA lookup table=lock_free key=0\nA grow table=lock_free\n"
      "B lookup table=lock_free key=0\n"
      "switch A 2.0 to B\nswitch B 0.2 to A\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("outgrown_block_cleared", program), "wrong-value invariant 4: A lookup of key 0");
}

// Both miss; A is the second to insert.
TEST(InvariantsDeathTest, AnInsertionThatFailsBreaksInvariant5) {
  const std::string program =
      "A resolve table=lock_free key=0 needs=0 resolver=returns\nB resolve table=lock_free key=0 needs=0 resolver=returns\n"
      "switch A 0.3 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("insert_fails_when_present", program), "protocol invariant 5: A offered a value for key 0 and got none back");
}

// A is in the table when B drops one of several references to its owner.
TEST(InvariantsDeathTest, AnOwnerThatIsFreedInUseBreaksInvariant11) {
  const std::string program = "A lookup table=lock_free key=0\nB drop table=lock_free\nswitch A 0.1 to B\n";
  ExpectSafe(program);
  EXPECT_DEATH(Play("drop_frees_owner_in_use", program), "delete-while-held invariant 11: Owner 2 is freed while 1 threads use");
}

}  // namespace
}  // namespace handoff::cache
