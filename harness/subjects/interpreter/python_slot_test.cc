#include "harness/subjects/interpreter/python_slot.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/testing/seeds.h"

namespace handoff::interpreter {
namespace {

TEST(PythonSlot, SeedsReachEveryOperation) {
  const auto codes = CodesIn(SeedsOf("object_slot_python", PythonSlot::Operations()));
  EXPECT_EQ(codes.size(), PythonSlot::Operations().operations.size());
}

TEST(PythonSlot, TwinsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Twin& twin : PythonSlot::Twins()) EXPECT_TRUE(names.emplace(twin.name).second) << twin.name;
}

}  // namespace
}  // namespace handoff::interpreter
