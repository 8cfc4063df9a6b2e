#include "harness/oracle/lock_order.h"

#include <gtest/gtest.h>

namespace handoff::lock_order {
namespace {

class LockOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    Reset();
    attached_ = NewNode("interpreter", 0);
    mutex_ = NewNode("mutex", 0);
    once_ = NewNode("once flag", 12);
  }
  static void Take(int thread, int node) {
    Waits(thread, node);
    Got(thread, node);
  }
  int attached_ = 0;
  int mutex_ = 0;
  int once_ = 0;
};

TEST_F(LockOrderTest, OneOrderIsClean) {
  for (int thread = 0; thread < 2; ++thread) {
    Take(thread, attached_);
    Take(thread, mutex_);
    Gave(thread, mutex_);
    Gave(thread, attached_);
  }
}

TEST_F(LockOrderTest, TheOtherOrderOfTwoIsACycleThoughNobodyHangs) {
  Take(0, attached_);
  Take(0, mutex_);
  Gave(0, mutex_);
  Gave(0, attached_);
  Take(1, mutex_);
  EXPECT_DEATH(
      Waits(1, attached_),
      "lock-order interpreter: Thread B waits for interpreter 0 while it holds mutex 0, but the other order was seen too: "
      "interpreter 0 before mutex 0 before interpreter 0");
}

TEST_F(LockOrderTest, ThreeThreadsMakeACycleOfThree) {
  Take(0, attached_);
  Waits(0, mutex_);
  Take(1, mutex_);
  Waits(1, once_);
  Take(2, once_);
  EXPECT_DEATH(Waits(2, attached_), "interpreter 0 before mutex 0 before once flag 12 before interpreter 0");
}

TEST_F(LockOrderTest, WhatAThreadHoldsItMustNotWaitFor) {
  Take(0, mutex_);
  EXPECT_DEATH(Waits(0, mutex_), "Thread A waits for mutex 0, which it holds itself");
}

TEST_F(LockOrderTest, GivingUpTheOneBeforeWaitingForTheOtherIsClean) {
  Take(0, attached_);
  Take(0, mutex_);
  Gave(0, mutex_);
  Take(1, mutex_);
  Gave(1, mutex_);
  Take(1, attached_);
}

TEST_F(LockOrderTest, WorkThatIsJoinedCountsAsHeld) {
  const int work = NewNode("work of thread", 1);
  Got(1, work);
  Waits(1, attached_);
  Take(0, attached_);
  EXPECT_DEATH(Waits(0, work), "lock-order work of thread: Thread A waits for work of thread 1 while it holds interpreter 0");
}

TEST_F(LockOrderTest, AResetForgetsAllOrders) {
  Take(0, attached_);
  Take(0, mutex_);
  SetUp();
  Take(0, mutex_);
  Take(0, attached_);
}

}  // namespace
}  // namespace handoff::lock_order
