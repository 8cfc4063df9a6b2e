#include "harness/case/edit.h"

#include <gtest/gtest.h>

namespace handoff {
namespace {

using Switches = std::vector<Switch>;

// Three threads of three operations each, coded 0 to 8; A switches in each of its operations.
Case ThreeThreads() {
  Case c{.strategy = Strategy::kListed};
  for (std::uint8_t first = 0; first < 9; first += 3) {
    c.threads.push_back(
        {{.code = first}, {.code = static_cast<std::uint8_t>(first + 1)}, {.code = static_cast<std::uint8_t>(first + 2)}});
  }
  c.switches = {{.thread = kGate, .to = 0},
                {.thread = 0, .to = 1, .at = {.operation = 0, .sync = 4}},
                {.thread = 0, .to = 2, .at = {.operation = 1, .access = 5}},
                {.thread = 2, .to = 0, .at = {.operation = 1}},
                {.thread = 0, .to = 2, .at = {.operation = 2}}};
  return c;
}

TEST(EditTest, SwitchesBehindAnInsertedOperationMoveOn) {
  Case c = ThreeThreads();
  InsertOperation(c, 0, 1, {.code = 9});
  EXPECT_EQ(c.threads[0], (std::vector<Operation>{{.code = 0}, {.code = 9}, {.code = 1}, {.code = 2}}));
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 0},
                                  {.thread = 0, .to = 1, .at = {.operation = 0, .sync = 4}},
                                  {.thread = 0, .to = 2, .at = {.operation = 2, .access = 5}},
                                  {.thread = 2, .to = 0, .at = {.operation = 1}},
                                  {.thread = 0, .to = 2, .at = {.operation = 3}}}));
}

TEST(EditTest, SwitchesInsideAnErasedOperationGoWithIt) {
  Case c = ThreeThreads();
  EXPECT_EQ(EraseOperation(c, 0, 1), (Operation{.code = 1}));
  EXPECT_EQ(c.threads[0], (std::vector<Operation>{{.code = 0}, {.code = 2}}));
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 0},
                                  {.thread = 0, .to = 1, .at = {.operation = 0, .sync = 4}},
                                  {.thread = 2, .to = 0, .at = {.operation = 1}},
                                  {.thread = 0, .to = 2, .at = {.operation = 1}}}));
}

TEST(EditTest, WhatTheMutatorNeverChoosesIsLeftOutByKindAndAltogether) {
  static constexpr OperationKind kKinds[9] = {{.name = "a"}, {.name = "b", .weight = 0}, {.name = "c"}, {.name = "d"},
                                              {.name = "e"}, {.name = "f", .weight = 0}, {.name = "g"}, {.name = "h"},
                                              {.name = "i"}};
  Case c = ThreeThreads();
  c.threads[2][0].code = 1;
  Case without_b = c;
  EraseOperation(without_b, 0, 1);
  EraseOperation(without_b, 2, 0);
  Case without_f = c;
  EraseOperation(without_f, 1, 2);
  Case without_any = without_b;
  EraseOperation(without_any, 1, 2);
  EXPECT_EQ(WithoutUnchosen({kKinds}, c), (std::vector<Case>{without_b, without_f, without_any}));
  EXPECT_EQ(WithoutUnchosen({kKinds}, without_f), std::vector<Case>{without_any}) << "of one kind there is one way";
  EXPECT_TRUE(WithoutUnchosen({kKinds}, without_any).empty());
}

TEST(EditTest, InsertingUndoesErasingButForTheSwitchesInside) {
  Case c = ThreeThreads();
  InsertOperation(c, 0, 3, {.code = 9});
  EraseOperation(c, 0, 3);
  EXPECT_EQ(c, ThreeThreads());
}

TEST(EditTest, ThreadsBehindAnErasedOneMoveUp) {
  Case c = ThreeThreads();
  EraseThread(c, 1);
  EXPECT_EQ(c.threads, (std::vector<std::vector<Operation>>{{{.code = 0}, {.code = 1}, {.code = 2}},
                                                            {{.code = 6}, {.code = 7}, {.code = 8}}}));
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 0},
                                  {.thread = 0, .to = 1, .at = {.operation = 1, .access = 5}},
                                  {.thread = 1, .to = 0, .at = {.operation = 1}},
                                  {.thread = 0, .to = 1, .at = {.operation = 2}}}));
}

TEST(EditTest, SwitchesFollowTheOperationsOfAMergedThread) {
  Case c = ThreeThreads();
  MergeThreads(c, 1, 0);
  EXPECT_EQ(c.threads,
            (std::vector<std::vector<Operation>>{{{.code = 3}, {.code = 4}, {.code = 5}, {.code = 0}, {.code = 1}, {.code = 2}},
                                                 {{.code = 6}, {.code = 7}, {.code = 8}}}));
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 0},
                                  {.thread = 0, .to = 1, .at = {.operation = 4, .access = 5}},
                                  {.thread = 1, .to = 0, .at = {.operation = 1}},
                                  {.thread = 0, .to = 1, .at = {.operation = 5}}}));
}

TEST(EditTest, SwitchesFollowOperationsThatMoveToAnotherThread) {
  Case c = ThreeThreads();
  MoveOperations(c, 0, 2, 2);
  EXPECT_EQ(c.threads, (std::vector<std::vector<Operation>>{{{.code = 2}},
                                                            {{.code = 3}, {.code = 4}, {.code = 5}},
                                                            {{.code = 0}, {.code = 1}, {.code = 6}, {.code = 7}, {.code = 8}}}));
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 0},
                                  {.thread = 2, .to = 1, .at = {.operation = 0, .sync = 4}},
                                  {.thread = 2, .to = 0, .at = {.operation = 3}},
                                  {.thread = 0, .to = 2, .at = {.operation = 0}}}));
}

TEST(EditTest, ThreadsExchangeTheirLetters) {
  Case c = ThreeThreads();
  SwapThreads(c, 0, 2);
  EXPECT_EQ(c.threads[0], ThreeThreads().threads[2]);
  EXPECT_EQ(c.threads[1], ThreeThreads().threads[1]);
  EXPECT_EQ(c.threads[2], ThreeThreads().threads[0]);
  EXPECT_EQ(c.switches, (Switches{{.thread = kGate, .to = 2},
                                  {.thread = 2, .to = 1, .at = {.operation = 0, .sync = 4}},
                                  {.thread = 2, .to = 0, .at = {.operation = 1, .access = 5}},
                                  {.thread = 0, .to = 2, .at = {.operation = 1}},
                                  {.thread = 2, .to = 0, .at = {.operation = 2}}}));
  SwapThreads(c, 0, 2);
  EXPECT_EQ(c, ThreeThreads());
}

}  // namespace
}  // namespace handoff
