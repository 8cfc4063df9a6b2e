#include "harness/subjects/interpreter/python_slot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <variant>

#include "harness/case/text.h"

namespace handoff::interpreter {
namespace {

TEST(PythonSlot, SeedsReachEveryOperation) {
  std::set<int> operations;
  for (const auto& file : std::filesystem::directory_iterator("corpus/object_slot_python/seed")) {
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    const auto parsed = ParseCase(PythonSlot::Operations(), text.str(), file.path().string());
    ASSERT_TRUE(std::holds_alternative<Case>(parsed)) << ToString(std::get<TextError>(parsed));
    for (const auto& thread : std::get<Case>(parsed).threads) {
      for (const Operation& operation : thread) operations.insert(operation.code);
    }
  }
  EXPECT_EQ(operations.size(), PythonSlot::Operations().operations.size());
}

TEST(PythonSlot, TwinsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Twin& twin : PythonSlot::Twins()) EXPECT_TRUE(names.emplace(twin.name).second) << twin.name;
}

}  // namespace
}  // namespace handoff::interpreter
