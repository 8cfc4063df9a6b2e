#include "harness/subjects/interpreter/reference_release_python.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "harness/subjects/interpreter/reference_release.h"
#include "harness/testing/seeds.h"

namespace handoff::interpreter {
namespace {

TEST(ReferenceReleasePython, SeedsReachEveryOperationAndEveryValue) {
  const Alphabet& alphabet = ReferenceReleasePython::Operations();
  std::set<std::vector<int>> seen;  // operation, argument, value
  for (const Case& c : SeedsOf("reference_release_python", alphabet)) {
    for (const auto& thread : c.threads) {
      for (const Operation& operation : thread) {
        for (int i = 0; i < 4; ++i) seen.insert({operation.code, i, operation.arguments[static_cast<std::size_t>(i)]});
      }
    }
  }
  for (std::size_t code = 0; code < alphabet.operations.size(); ++code) {
    const OperationKind& kind = alphabet.operations[code];
    EXPECT_TRUE(kind.argument_count > 0 || seen.contains({static_cast<int>(code), 0, 0})) << kind.name;
    for (int i = 0; i < kind.argument_count; ++i) {
      const Argument& argument = kind.arguments[static_cast<std::size_t>(i)];
      if (argument.value_names.empty()) continue;  // a thread's number
      for (int value = 0; value < ValueCount(argument); ++value)
        EXPECT_TRUE(seen.contains({static_cast<int>(code), i, value})) << kind.name << " " << argument.name << " " << value;
    }
  }
}

TEST(ReferenceReleasePython, TwinsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Twin& twin : ReferenceReleasePython::Twins()) EXPECT_TRUE(names.emplace(twin.name).second) << twin.name;
}

// A case of one request to end the subinterpreter, which is heard every time or only if it is the first of the process.
Case FinalizingCase(bool always) {
  const Alphabet& alphabet = ReferenceReleasePython::Operations();
  const auto code = std::ranges::find(alphabet.operations, "finalize", &OperationKind::name) - alphabet.operations.begin();
  Case c;
  c.threads = {{{.code = static_cast<std::uint8_t>(code), .arguments = {2}}}};
  while ((Seed(c) % 256 == 0) != always) c.bytes.push_back(static_cast<std::uint8_t>(c.bytes.size()));
  return c;
}

int forks = 0;

void Execute(Subject& subject, const Case& c) {
  subject.Begin(c);
  subject.Apply(0, c.threads[0][0]);
  EXPECT_EQ(subject.NeedsFinish(1), 0U);
  subject.End();
}

// Whether a request is heard decides what the operations behind it do, so a case that is run again must find the same answer,
// however often others have asked meanwhile.
TEST(ReferenceReleasePythonDeathTest, TheCaseDecidesWhetherARequestToFinalizeIsHeard) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    pthread_atfork(nullptr, [] { ++forks; }, nullptr);
    const auto subject = ReferenceReleasePython::Make(-1);
    subject->Initialize("reference_release_python_test");
    const Case seldom = FinalizingCase(false);
    const Case always = FinalizingCase(true);
    Execute(*subject, seldom);
    std::fprintf(stderr, "first: %d, ", forks);
    for (int i = 0; i < 600; ++i) Execute(*subject, seldom);
    std::fprintf(stderr, "seldom: %d, ", forks);
    for (int i = 0; i < 3; ++i) Execute(*subject, always);
    std::fprintf(stderr, "always: %d\n", forks);
    std::_Exit(7);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "first: 1, seldom: 1, always: 4");
}

// A row of the table of ways: the strategy's name, and the words in backquotes of its last three columns.
struct Row {
  std::string strategy;
  std::string at_the_end;
  std::vector<std::string> safe;
  std::vector<std::string> model;
  std::vector<std::string> python;
};

std::vector<std::string> Quoted(const std::string& cell) {
  std::vector<std::string> words;
  std::istringstream parts(cell);
  std::string word;
  for (bool inside = false; std::getline(parts, word, '`'); inside = !inside) {
    if (inside) words.push_back(word);
  }
  return words;
}

std::vector<Row> Table() {
  std::ifstream file("harness/subjects/interpreter/README.md");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| S")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line.substr(2));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    if (cells.size() != 10) {
      ADD_FAILURE() << "expected 10 columns, found " << cells.size() << ": " << line;
      continue;
    }
    rows.push_back({cells[0].substr(0, cells[0].find(' ')), cells[5], Quoted(cells[7]), Quoted(cells[8]), Quoted(cells[9])});
  }
  return rows;
}

template <typename Subject>
bool HasTwin(const std::string& name) {
  return std::ranges::any_of(Subject::Twins(), [&](const Twin& twin) { return twin.name == name; });
}

// An operation, or one value of one of its arguments.
bool IsInAlphabet(const Alphabet& alphabet, const std::string& word) {
  for (const OperationKind& kind : alphabet.operations) {
    if (kind.name == word) return true;
    for (const Argument& argument : kind.arguments) {
      if (std::ranges::find(argument.value_names, word) != argument.value_names.end()) return true;
    }
  }
  return false;
}

TEST(TableOfWays, NamesEachStrategyOnce) {
  const std::vector<Row> rows = Table();
  ASSERT_EQ(rows.size(), 12U);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].strategy, "S" + std::to_string(i + 1));
}

TEST(TableOfWays, NamesTwinsThatThereAre) {
  for (const Row& row : Table()) {
    EXPECT_FALSE(row.model.empty() && row.python.empty()) << row.strategy;
    for (const std::string& twin : row.model) EXPECT_TRUE(HasTwin<ReferenceRelease>(twin)) << row.strategy << " " << twin;
    for (const std::string& twin : row.python) EXPECT_TRUE(HasTwin<ReferenceReleasePython>(twin)) << row.strategy << " " << twin;
  }
}

TEST(TableOfWays, NamesEachTwinThatSaysItIsOfAStrategy) {
  const std::vector<Row> rows = Table();
  const auto check = [&](std::span<const Twin> twins, std::vector<std::string> Row::* column) {
    for (const Twin& twin : twins) {
      const std::string strategy(twin.breach.substr(0, twin.breach.find_first_of(" ,")));
      const auto row = std::ranges::find(rows, strategy, &Row::strategy);
      if (row == rows.end()) continue;
      EXPECT_TRUE(std::ranges::count((*row).*column, twin.name) == 1) << twin.name << " is not in the row of " << strategy;
    }
  };
  check(ReferenceRelease::Twins(), &Row::model);
  check(ReferenceReleasePython::Twins(), &Row::python);
}

TEST(TableOfWays, PutsASafeStrategyIntoTheSafeRunAndNoOther) {
  for (const Row& row : Table()) {
    EXPECT_EQ(row.safe.empty(), row.at_the_end.starts_with(" no")) << row.strategy;
    for (const std::string& word : row.safe) {
      EXPECT_TRUE(IsInAlphabet(ReferenceRelease::Operations(), word)) << row.strategy << " " << word;
      EXPECT_EQ(IsInAlphabet(ReferenceReleasePython::Operations(), word), row.strategy != "S10") << row.strategy << " " << word;
    }
  }
}

}  // namespace
}  // namespace handoff::interpreter
