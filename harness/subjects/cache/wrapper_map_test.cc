#include "harness/subjects/cache/wrapper_map.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/subjects/cache/cache.h"
#include "harness/testing/scheduled.h"

namespace handoff::cache {
namespace {

// Objects 0 and 2 share a shard.
TEST(WrapperMap, HasOneWrapperForEachObjectOfAShard) {
  WrapperMap map;
  Wrapper* first = map.Fetch(0);
  Wrapper* other = map.Fetch(2);
  Wrapper* elsewhere = map.Fetch(1);
  EXPECT_NE(first, other);
  EXPECT_EQ(map.Fetch(0), first);
  EXPECT_EQ(map.Fetch(2), other);
  map.Drop(other);
  map.CheckIdentity(other);
  map.Drop(other);
  map.CheckIdentity(first);
  map.CheckIdentity(elsewhere);
  other = map.Fetch(2);
  map.Drop(first);
  map.Drop(first);
  map.CheckIdentity(other);
  map.Drop(other);
  map.Drop(elsewhere);
}

// A's wrapper is dying, and A has not locked the shard yet, when B makes a newer one.
constexpr const char* kDyingMeetsNewer =
    "strategy listed\ngranularity sync\nthreads 2\n"
    "A fetch native=2\nA fetch native=0\nA drop_wrapper native=0\nB fetch native=0\n"
    "switch A 2.2 to B\n";

TEST(WrapperMapDeathTest, ADyingWrapperRemovesItsOwnEntryOnly) {
  EXPECT_EXIT(RunScheduled<NativeCache>("", schedule::Carrier::kFiber, kDyingMeetsNewer), testing::ExitedWithCode(0), "");
  EXPECT_DEATH(RunScheduled<NativeCache>("newer_entry_removed", schedule::Carrier::kFiber, kDyingMeetsNewer),
               "wrong-value wrapper map: A wrapper of native object 0 is in use");
}

}  // namespace
}  // namespace handoff::cache
