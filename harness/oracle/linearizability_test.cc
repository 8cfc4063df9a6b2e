#include "harness/oracle/linearizability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace handoff::linearizability {
namespace {

enum Code { kLookup, kPut, kDefault };

int Apply(int* state, int operation, int argument) {
  if (operation == kPut) {
    *state = argument;
    return 0;
  }
  if (operation == kDefault && *state == 0) *state = argument;
  return *state;
}

const char* Rule(int operation, int result) { return operation == kLookup && result == 0 ? "lost" : "other"; }

constexpr const char* kNames[] = {"lookup", "put", "default"};
constexpr Specification kMap = {0, &Apply, &Rule, kNames};

int Start(char thread, int operation, int argument = 0, int key = 0, int map = 0) {
  return Called(thread - 'A', map, key, operation, argument);
}
void Do(char thread, int operation, int argument, int result, int key = 0, int map = 0) {
  Returned(Start(thread, operation, argument, key, map), result);
}

class LinearizabilityTest : public testing::Test {
 protected:
  void SetUp() override { Reset(); }
};

TEST_F(LinearizabilityTest, NoCallsAreExplained) { Judge(kMap); }

TEST_F(LinearizabilityTest, CallsOneAfterAnotherMustAnswerLikeTheMap) {
  Do('A', kLookup, 0, 0);
  Do('A', kDefault, 3, 3);
  Do('B', kDefault, 4, 3);
  Do('B', kPut, 5, 0);
  Do('A', kLookup, 0, 5);
  Judge(kMap);
}

TEST_F(LinearizabilityTest, AnOverlappingLookupMaySeeEitherSide) {
  for (const int seen : {0, 7}) {
    Reset();
    const int put = Start('A', kPut, 7);
    Do('B', kLookup, 0, seen);
    Returned(put, 0);
    Judge(kMap);
  }
}

TEST_F(LinearizabilityTest, ALostInsertIsNamedWithItsRule) {
  Do('A', kDefault, 3, 3);
  Do('B', kLookup, 0, 0);
  EXPECT_DEATH(Judge(kMap), "linearizability lost: B's lookup.0. on key 0 of map 0 answered 0");
}

// A later call is impossible too, but the first one is to be named.
TEST_F(LinearizabilityTest, TheFirstCallThatCannotBeExplainedIsNamed) {
  Do('A', kPut, 1, 0);
  Do('C', kLookup, 0, 9);
  Do('B', kLookup, 0, 8);
  EXPECT_DEATH(Judge(kMap), "C's lookup.0. on key 0 of map 0 answered 9");
}

TEST_F(LinearizabilityTest, AValueMayNotGoBackAfterItWasSeen) {
  const int put = Start('A', kPut, 1);
  Do('B', kLookup, 0, 1);
  Do('C', kLookup, 0, 0);
  Returned(put, 0);
  EXPECT_DEATH(Judge(kMap), "C's lookup.* answered 0.*A put.1. open since 1");
}

TEST_F(LinearizabilityTest, ACallOpenAtTheCulpritMayHaveAnsweredAnything) {
  const int first = Start('A', kDefault, 1);
  Do('B', kDefault, 2, 2);  // explained whatever A answers later
  Returned(first, 1);       // is not
  EXPECT_DEATH(Judge(kMap), "A's default.1. on key 0 of map 0 answered 1");
}

TEST_F(LinearizabilityTest, KeysAndMapsAreIndependent) {
  Do('A', kPut, 1, 0, 0, 0);
  Do('A', kLookup, 0, 0, 1, 0);
  Do('A', kLookup, 0, 0, 0, 1);
  Judge(kMap);
  Do('A', kLookup, 0, 2, 0, 1);
  EXPECT_DEATH(Judge(kMap), "key 0 of map 1 answered 2");
}

TEST_F(LinearizabilityTest, ACallThatNeverEndedMayHaveHappened) {
  Start('A', kPut, 6);
  Do('B', kLookup, 0, 6);
  Judge(kMap);
}

// Carries out random calls at random moments between start and end, so the history is linearizable by construction.
void RecordRandomHistory(std::mt19937& random, int threads, int total) {
  struct Open {
    int call = -1, operation = 0, argument = 0, result = 0;
    bool happened = false;
  };
  std::vector<Open> open(static_cast<std::size_t>(threads));
  int state = 0;
  for (int started = 0; started < total || std::any_of(open.begin(), open.end(), [](const Open& o) { return o.call >= 0; });) {
    const int thread = static_cast<int>(random() % static_cast<unsigned>(threads));
    Open& o = open[static_cast<std::size_t>(thread)];
    if (o.call < 0) {
      if (started == total) continue;
      o = {-1, static_cast<int>(random() % 3), static_cast<int>(1 + random() % 30), 0, false};
      o.call = Start(static_cast<char>('A' + thread), o.operation, o.argument);
      ++started;
    } else if (!o.happened) {
      o.result = Apply(&state, o.operation, o.argument);
      o.happened = true;
    } else {
      Returned(o.call, o.result);
      o.call = -1;
    }
  }
}

TEST_F(LinearizabilityTest, HistoriesOfARealMapAreExplained) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Reset();
    RecordRandomHistory(random, 1 + i % 8, 64);
    Judge(kMap);
  }
}

TEST_F(LinearizabilityTest, AStaleAnswerAfterALongHistoryIsFound) {
  std::mt19937 random(2);
  RecordRandomHistory(random, 8, 62);
  Do('A', kPut, 40, 0);
  Do('B', kLookup, 0, 41);
  EXPECT_DEATH(Judge(kMap), "B's lookup.0. on key 0 of map 0 answered 41");
}

// All open at once is the hardest history: the memory keeps it from trying every order.
TEST_F(LinearizabilityTest, EightOpenCallsWithoutAnExplanationEndSoon) {
  for (int round = 0; round < 8; ++round) {
    int open[8];
    for (int i = 0; i < 8; ++i) open[i] = Start(static_cast<char>('A' + i), kPut, round * 8 + i + 1);
    for (const int call : open) Returned(call, 0);
  }
  Do('A', kLookup, 0, 100);
  EXPECT_DEATH(Judge(kMap), "A's lookup.0. on key 0 of map 0 answered 100");
}

TEST_F(LinearizabilityTest, AFullHistorySaysWhatToDo) {
  for (int i = 0; i < kMaxCalls; ++i) Do('A', kLookup, 0, 0, i);
  EXPECT_DEATH(Start('A', kLookup), "Raise kMaxCalls");
}

TEST_F(LinearizabilityTest, ThreadsMayRecordAtTheSameTime) {
  std::vector<std::thread> threads;
  for (char thread = 'A'; thread < 'E'; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 20; ++i) Do(thread, kLookup, 0, 0);
    });
  }
  for (std::thread& t : threads) t.join();
  Judge(kMap);
}

}  // namespace
}  // namespace handoff::linearizability
