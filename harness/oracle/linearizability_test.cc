#include "harness/oracle/linearizability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace handoff::linearizability {
namespace {

enum Code { kLookup, kPut, kDefault, kAdd };

int Apply(int* state, int operation, int argument) {
  const int before = *state;
  if (operation == kPut || (operation != kLookup && before == 0)) *state = argument;
  if (operation == kAdd) return before == 0 ? 1 : 0;
  return operation == kPut ? 0 : *state;
}

const char* Rule(int operation, int result) { return operation == kLookup && result == 0 ? "lost" : "other"; }
const char* Place(int map) { return map == 0 ? "" : " of another map,"; }

constexpr Words kWords[] = {{"lookup"}, {"put"}, {"default"}, {"add", "there", "added"}};
constexpr Specification kMap = {0, &Apply, &Rule, kWords, &Place};

void Print(const void* /*self*/, int thread, int number, char* text, int size) {
  snprintf(text, static_cast<std::size_t>(size), "use %c%d", 'A' + thread, number);
}
constexpr Program kProgram = {nullptr, &Print};
void Judge() { linearizability::Judge(kMap, kProgram); }

// Each call is an operation of its own.
int Start(char thread, int operation, int argument = 0, int key = 0, int map = 0) {
  OperationBegins(thread - 'A');
  return Called(thread - 'A', map, key, operation, argument);
}
void Do(char thread, int operation, int argument, int result, int key = 0, int map = 0) {
  Returned(Start(thread, operation, argument, key, map), result);
}

class LinearizabilityTest : public testing::Test {
 protected:
  void SetUp() override { Reset(); }
};

TEST_F(LinearizabilityTest, NoCallsAreExplained) { Judge(); }

TEST_F(LinearizabilityTest, CallsOneAfterAnotherMustAnswerLikeTheMap) {
  Do('A', kLookup, 0, 0);
  Do('A', kDefault, 3, 3);
  Do('B', kDefault, 4, 3);
  Do('B', kPut, 5, 0);
  Do('A', kLookup, 0, 5);
  Judge();
}

TEST_F(LinearizabilityTest, AnOverlappingLookupMaySeeEitherSide) {
  for (const int seen : {0, 7}) {
    Reset();
    const int put = Start('A', kPut, 7);
    Do('B', kLookup, 0, seen);
    Returned(put, 0);
    Judge();
  }
}

TEST_F(LinearizabilityTest, ALostInsertIsNamedWithItsRule) {
  Do('A', kDefault, 3, 3);
  Do('B', kLookup, 0, 0);
  EXPECT_DEATH(Judge(),
               "linearizability lost: The lookup of key 0 in B's operation 0 .use B0. answered none; expected value A0.");
}

// A later call is impossible too, but the first one is to be named.
TEST_F(LinearizabilityTest, TheFirstCallThatCannotBeExplainedIsNamed) {
  Do('A', kPut, 1, 0);
  Do('C', kLookup, 0, 9);
  Do('B', kLookup, 0, 8);
  EXPECT_DEATH(Judge(),
               "The lookup of key 0 in C's operation 0 .use C0. answered a value that no call offered; expected value A0");
}

TEST_F(LinearizabilityTest, AValueMayNotGoBackAfterItWasSeen) {
  const int put = Start('A', kPut, 1);
  Do('B', kLookup, 0, 1);
  Do('C', kLookup, 0, 0);
  Returned(put, 0);
  EXPECT_DEATH(Judge(),
               "The lookup of key 0 in C's operation 0 .* answered none; expected value A0.*: A0 put.A0., which still ran; "
               "B0 lookup.. = A0, during A0 put; C0 lookup.. = none, during A0 put");
}

TEST_F(LinearizabilityTest, ACallOpenAtTheCulpritMayHaveAnsweredAnything) {
  const int first = Start('A', kDefault, 1);
  Do('B', kDefault, 2, 2);  // explained whatever A answers later
  Returned(first, 1);       // is not
  EXPECT_DEATH(Judge(), "The default of key 0 in A's operation 0 .* answered value A0; expected value B0");
}

TEST_F(LinearizabilityTest, KeysAndMapsAreIndependent) {
  Do('A', kPut, 1, 0, 0, 0);
  Do('A', kLookup, 0, 0, 1, 0);
  Do('A', kLookup, 0, 0, 0, 1);
  Judge();
  Do('A', kLookup, 0, 2, 0, 1);
  EXPECT_DEATH(Judge(), "The lookup of key 0 of another map, in A's operation 3 .use A3. answered");
}

TEST_F(LinearizabilityTest, ACallThatNeverEndedMayHaveHappened) {
  Start('A', kPut, 6);
  Do('B', kLookup, 0, 6);
  Judge();
}

TEST_F(LinearizabilityTest, CallsOneAfterAnotherAreToldWithTheOneRightAnswer) {
  Do('A', kDefault, 7, 7);
  Do('B', kPut, 3, 0);
  Do('A', kLookup, 0, 7);
  EXPECT_DEATH(Judge(),
               "other: The lookup of key 0 in A's operation 1 .use A1. answered value A0; expected value B0. "
               "The calls on this key until then came one after another: A0 default.A0. = A0; B0 put.B0. = none; "
               "A1 lookup.. = A0. "
               "A1 stands for A's operation 1, counted from 0, and for the value that it offered.\n");
}

TEST_F(LinearizabilityTest, OfCallsThatOverlapEveryRightAnswerIsTold) {
  const int put = Start('A', kPut, 7);
  const int other = Start('B', kPut, 8);
  Returned(put, 0);
  Do('C', kPut, 9, 0);
  Returned(other, 0);
  Do('A', kLookup, 0, 7);
  EXPECT_DEATH(Judge(),
               "answered value A0; expected value B0 or value C0. "
               "Of calls that overlap either may come first, but no order explains that answer. "
               "The calls on this key until then, as they began: A0 put.A0. = none; B0 put.B0. = none, during A0 put; "
               "C0 put.C0. = none, during B0 put; A1 lookup.. = A0. ");
}

TEST_F(LinearizabilityTest, ACallIsToldWithTheOperationThatMadeIt) {
  OperationBegins(1);
  OperationBegins(1);
  Returned(Called(1, 0, 2, kLookup, 0), 0);
  Returned(Called(1, 0, 2, kDefault, 4), 4);
  Returned(Called(1, 0, 2, kPut, 5), 0);
  Returned(Called(1, 0, 2, kLookup, 0), 4);
  EXPECT_DEATH(Judge(),
               "The lookup of key 2 in B's operation 1 .use B1. answered value B1; expected value B1'[.].*"
               "B1 default.B1. = B1; B1 put.B1'. = none; B1 lookup.. = B1[.]");
}

TEST_F(LinearizabilityTest, AnAnswerOfTwoIsToldInItsWords) {
  Do('A', kPut, 1, 0);
  Do('B', kAdd, 2, 1);
  EXPECT_DEATH(Judge(), "The add of key 0 in B's operation 0 .use B0. answered added; expected there[.].*B0 add.B0. = added[.]");
}

TEST_F(LinearizabilityTest, OfACallAloneNoOthersAreTold) {
  Do('A', kAdd, 1, 0);
  EXPECT_DEATH(Judge(), "answered there; expected added. No other call on this key had begun.\n");
}

TEST_F(LinearizabilityTest, OfALongHistoryTheCallsThatMatterAreTold) {
  Do('A', kPut, 1, 0);
  Do('B', kPut, 2, 0);
  for (int i = 0; i < 30; ++i) Do('C', kLookup, 0, 2);
  Do('A', kLookup, 0, 1);
  EXPECT_DEATH(Judge(),
               "until then came one after another .12 of 33.: A0 put.A0. = none; B0 put.B0. = none; "
               "C21 lookup.. = B0; .*; C29 lookup.. = B0; A1 lookup.. = A0[.]");
}

// About the longest there is: all threads, operations of two digits, and calls that overlap as many others as they can.
TEST_F(LinearizabilityTest, ALongVerdictIsNotCut) {
  for (int thread = 0; thread < 8; ++thread) {
    for (int i = 0; i < 10; ++i) OperationBegins(thread);
  }
  int open[96];
  for (int i = 0; i < 96; ++i) {
    if (i >= 8) Returned(open[i - 8], 0);
    open[i] = Start(static_cast<char>('A' + i % 8), i < 95 ? kPut : kLookup, i < 95 ? 100 + i : 0);
  }
  Returned(open[95], 50);
  EXPECT_DEATH(Judge(),
               "answered a value that no call offered; expected value B21 or .* or value G21 or another[.] .*"
               "G21 put.G21., which still ran, during F21 put and E21 put and 5 more; "
               "H21 lookup.. = a value that no call offered, during .* more[.] "
               "H21 stands for H's operation 21, counted from 0, and for the value that it offered.\n");
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
      o = {-1, static_cast<int>(random() % 4), static_cast<int>(1 + random() % 30), 0, false};
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
    Judge();
  }
}

TEST_F(LinearizabilityTest, AStaleAnswerAfterALongHistoryIsFound) {
  std::mt19937 random(2);
  RecordRandomHistory(random, 8, 62);
  Do('A', kPut, 40, 0);
  Do('B', kLookup, 0, 41);
  EXPECT_DEATH(Judge(), "The lookup of key 0 in B's operation [0-9]+ .* answered a value that no call offered; expected value ");
}

// All open at once is the hardest history: the memory keeps it from trying every order.
TEST_F(LinearizabilityTest, EightOpenCallsWithoutAnExplanationEndSoon) {
  for (int round = 0; round < 8; ++round) {
    int open[8];
    for (int i = 0; i < 8; ++i) open[i] = Start(static_cast<char>('A' + i), kPut, round * 8 + i + 1);
    for (const int call : open) Returned(call, 0);
  }
  Do('A', kLookup, 0, 100);
  EXPECT_DEATH(Judge(), "The lookup of key 0 in A's operation 8 .* answered a value that no call offered; expected value");
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
  Judge();
}

}  // namespace
}  // namespace handoff::linearizability
