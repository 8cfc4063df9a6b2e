// The committed seeds of a target, for the tests of its subject. Tests are run from the root of the source tree.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "harness/case/case.h"
#include "harness/case/text.h"
#include "harness/subjects/subject.h"

namespace handoff {

// All cases of corpus/TARGET/seed; a failed expectation for one that cannot be read.
inline std::vector<Case> SeedsOf(const std::string& target, const Alphabet& alphabet) {
  std::vector<Case> cases;
  for (const auto& file : std::filesystem::directory_iterator("corpus/" + target + "/seed")) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto parsed = ParseCase(alphabet, text, file.path().string());
    EXPECT_TRUE(std::holds_alternative<Case>(parsed)) << ToString(std::get<TextError>(parsed));
    if (std::holds_alternative<Case>(parsed)) cases.push_back(std::get<Case>(parsed));
  }
  return cases;
}

// The codes of all operations in the cases.
inline std::set<int> CodesIn(const std::vector<Case>& cases) {
  std::set<int> codes;
  for (const Case& c : cases) {
    for (const auto& thread : c.threads) {
      for (const Operation& operation : thread) codes.insert(operation.code);
    }
  }
  return codes;
}

// One thread's operations after the other's, without a scheduler.
inline void RunInTurn(Subject& subject, const Case& c) {
  subject.Begin(c);
  for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
    for (const Operation& operation : c.threads[thread]) subject.Apply(static_cast<int>(thread), operation);
  }
  subject.End();
}

}  // namespace handoff
