#include "harness/subjects/canary/canary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/case/text.h"

namespace handoff::canary {
namespace {

constexpr int kThreads = 3;

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every operation with every value of its first argument, on each thread.
Case Everything(const Canary& canary) {
  Case c;
  c.threads.resize(kThreads);
  for (std::size_t code = 0; code < canary.operations.size(); ++code) {
    const OperationKind& kind = canary.operations[code];
    const int values = kind.argument_count > 0 ? kind.arguments[0].values : 1;
    for (int value = 0; value < values; ++value) {
      const Operation operation = {static_cast<std::uint8_t>(code), {static_cast<std::uint8_t>(value)}};
      for (auto& thread : c.threads) thread.push_back(operation);
    }
  }
  return c;
}

// All operations of one thread, then those of the next, on the calling thread and without a scheduler.
void RunInTurn(Subject& subject, const Case& c) {
  const int threads = static_cast<int>(c.threads.size());
  subject.Begin(c);
  for (int thread = 0; thread < threads; ++thread) {
    for (const Operation& operation : c.threads[static_cast<std::size_t>(thread)]) subject.Apply(thread, operation);
  }
  for (int thread = 0; thread < threads && subject.NeedsFinish((1U << threads) - 1) != 0; ++thread) subject.Finish(thread);
  subject.End();
}

struct Row {
  std::string target, twin, sanitizer, kinds[kGranularities];
};

std::vector<Row> Expectations() {
  std::vector<Row> rows;
  std::istringstream lines(Read("fuzz/canary/expectations.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Row row;
    words >> row.target >> row.twin >> row.sanitizer >> row.kinds[0] >> row.kinds[1] >> row.kinds[2];
    EXPECT_FALSE(words.fail()) << "expected six words, found: " << line;
    EXPECT_TRUE((words >> std::ws).eof()) << "expected six words, found more: " << line;
    rows.push_back(row);
  }
  return rows;
}

TEST(Canary, NamesAreUniqueAndSorted) {
  const auto all = AllCanaries();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Canary* a, const Canary* b) { return a->name <= b->name; }));
}

TEST(Canary, EachHasATargetFileAndSeeds) {
  for (const Canary* canary : AllCanaries()) {
    ASSERT_TRUE(canary->name.starts_with("canary_"));
    const std::string noun(canary->name.substr(7));
    EXPECT_TRUE(std::filesystem::exists("fuzz/canary/" + noun + ".cc")) << canary->name;
    EXPECT_FALSE(std::filesystem::is_empty("corpus/" + std::string(canary->name) + "/seed")) << canary->name;
  }
}

TEST(Canary, EachOperationAndArgumentSurvivesTheTextForm) {
  for (const Canary* canary : AllCanaries()) {
    const Alphabet alphabet{canary->operations};
    Case c = Everything(*canary);
    Normalize(alphabet, c);
    const auto parsed = ParseCase(alphabet, PrintCase(alphabet, c), "printed");
    ASSERT_TRUE(std::holds_alternative<Case>(parsed)) << canary->name << ": " << ToString(std::get<TextError>(parsed));
    EXPECT_EQ(std::get<Case>(parsed), c) << canary->name;
  }
}

TEST(Canary, SeedsAreValidCases) {
  for (const Canary* canary : AllCanaries()) {
    for (const auto& file : std::filesystem::directory_iterator("corpus/" + std::string(canary->name) + "/seed")) {
      const auto parsed = ParseCase({canary->operations}, Read(file.path()), file.path().string());
      EXPECT_TRUE(std::holds_alternative<Case>(parsed)) << ToString(std::get<TextError>(parsed));
    }
  }
}

TEST(Canary, SafeVersionsEndInSilenceWithoutAScheduler) {
  for (const Canary* canary : AllCanaries()) {
    SCOPED_TRACE(canary->name);
    const auto subject = canary->make(-1);
    subject->Initialize(HANDOFF_TARGET_FOLDER "x");
    for (int i = 0; i < 3; ++i) {
      RunInTurn(*subject, Everything(*canary));
      RunInTurn(*subject, Case{.threads = {{}, {}}});
    }
  }
}

TEST(Canary, TheMissingDeleteIsNoticedWhenAnotherThreadIsLast) {
  const auto subject = kLeak.make(0);
  EXPECT_DEATH(RunInTurn(*subject, Everything(kLeak)), "missing-delete");
}

TEST(Canary, ExpectationsNameEachTwinUnderEachSanitizerOnce) {
  std::multiset<std::string> found;
  for (const Row& row : Expectations()) found.insert(row.target + " " + row.twin + " " + row.sanitizer);
  std::multiset<std::string> wanted;
  for (const Canary* canary : AllCanaries()) {
    for (const Twin& twin : canary->twins) {
      for (const char* sanitizer : {"thread", "address", "none"}) {
        wanted.insert(std::string(canary->name) + " " + std::string(twin.name) + " " + sanitizer);
      }
    }
  }
  EXPECT_EQ(found, wanted);
}

// What coarse points show, finer ones show too: they only add switches.
TEST(Canary, ExpectationsNeverShrinkWithFinerPoints) {
  for (const Row& row : Expectations()) {
    for (int g = 0; g + 1 < kGranularities; ++g) {
      EXPECT_TRUE(row.kinds[g] == "-" || row.kinds[g + 1].find(row.kinds[g]) != std::string::npos)
          << row.target << " " << row.twin;
    }
  }
}

}  // namespace
}  // namespace handoff::canary
