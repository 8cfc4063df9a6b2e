#include "harness/subjects/cache/python_cache.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/subjects/cache/python_table.h"
#include "harness/subjects/cache/python_watch.h"
#include "harness/testing/seeds.h"

namespace handoff::cache {
namespace {

using namespace cpython;

TEST(PythonCache, SeedsReachEveryOperation) {
  const auto codes = CodesIn(SeedsOf("native_cache_python", PythonCache::Operations()));
  EXPECT_EQ(codes.size(), PythonCache::Operations().operations.size());
}

TEST(PythonCache, TwinsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Twin& twin : PythonCache::Twins()) EXPECT_TRUE(names.emplace(twin.name).second) << twin.name;
}

TEST(PythonTable, LocksThatAreNotGivenBackAreNoticed) {
  CheckLocks();
  Table* table = NewTable(Form::kSection, 7);
  EXPECT_DEATH(CheckLocks(), "missing-delete locks");
  Free(table);
  CheckLocks();
}

TEST(PythonWatch, AnObjectIsFreedOnceAndNotUsedAfterwards) {
  cpython::watch::Reset();
  const int number = cpython::watch::Made(cpython::watch::Kind::kValue);
  cpython::watch::Used(number);
  EXPECT_DEATH(cpython::watch::Judge(), "missing-delete references: Value 1 is left");
  cpython::watch::Gone(number);
  EXPECT_FALSE(cpython::watch::Outstanding());
  cpython::watch::Judge();
  EXPECT_DEATH(cpython::watch::Used(number), "use-after-delete invariant 9");
  EXPECT_DEATH(cpython::watch::Used(number + 1), "use-after-delete invariant 9");
  EXPECT_DEATH(cpython::watch::Gone(number), "double-delete invariant 11: Value 1");
}

TEST(PythonWatch, AValueOutlivesTheTableThatItWasOfferedTo) {
  cpython::watch::Reset();
  const int function = cpython::watch::Made(cpython::watch::Kind::kFunction);
  const int value = cpython::watch::Made(cpython::watch::Kind::kValue);
  cpython::watch::Offered(value, function);
  EXPECT_DEATH(cpython::watch::Gone(value), "delete-while-held invariant 9: Value 2 is freed while the table of function 1");
  cpython::watch::Gone(function);
  cpython::watch::Gone(value);
}

TEST(PythonWatch, AKeyGetsOneLoop) {
  cpython::watch::Reset();
  cpython::watch::LoopAdded(0, 1);
  cpython::watch::LoopAdded(0, 2);
  cpython::watch::LoopAdded(1, 1);
  EXPECT_DEATH(cpython::watch::LoopAdded(0, 1), "protocol one loop: Function 0 got a second loop for key 1");
}

}  // namespace
}  // namespace handoff::cache
