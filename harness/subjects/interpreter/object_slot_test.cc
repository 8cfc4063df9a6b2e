#include "harness/subjects/interpreter/object_slot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/oracle/lock_order.h"
#include "harness/subjects/interpreter/free_list.h"
#include "harness/subjects/interpreter/watch.h"
#include "harness/testing/seeds.h"

namespace handoff::interpreter {
namespace {

std::vector<Case> Seeds() { return SeedsOf("object_slot", ObjectSlot::Operations()); }

TEST(ObjectSlot, SeedsReachEveryOperation) { EXPECT_EQ(CodesIn(Seeds()).size(), ObjectSlot::Operations().operations.size()); }

TEST(ObjectSlot, TheSafeDesignsAreSilentOnEverySeed) {
  const auto subject = ObjectSlot::Make(-1);
  for (const Case& c : Seeds()) RunInTurn(*subject, c);
}

TEST(ObjectSlot, TwinsHaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const Twin& twin : ObjectSlot::Twins()) names.emplace_back(twin.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    watch::Reset();
    native_ = watch::NativeMade();
    wrapper_ = watch::WrapperMade(native_);
    watch::WrapperPublished(wrapper_);
  }
  int native_ = 0;
  int wrapper_ = 0;
};

TEST_F(WatchTest, AWrapperThatGoesBeforeItsNativeObjectIsClean) {
  watch::WrapperReturned(native_, wrapper_);
  watch::DeallocBegins(wrapper_, 1);
  watch::WrapperWithdrawn(wrapper_);
  watch::WrapperGone(wrapper_);
  watch::NativeGone(native_);
  watch::Judge();
}

TEST_F(WatchTest, TwoWrappersOfOneObjectBreakC4) {
  const int second = watch::WrapperMade(native_);
  EXPECT_DEATH(watch::WrapperPublished(second), "protocol C4: Native object 1 gets wrapper 2 although it has wrapper 1");
  EXPECT_DEATH(watch::WrapperReturned(native_, second), "wrong-value C4: .* identity is lost");
}

TEST_F(WatchTest, AWrapperThatIsHandedOutAfterItsEndBreaksC4) {
  watch::WrapperWithdrawn(wrapper_);
  watch::WrapperGone(wrapper_);
  EXPECT_DEATH(watch::WrapperReturned(native_, wrapper_), "use-after-delete C4");
}

TEST_F(WatchTest, AHermeticWrapperThatEverybodySeesBreaksT3) {
  EXPECT_DEATH(watch::HermeticReturned(native_, wrapper_), "wrong-value T3");
}

TEST_F(WatchTest, AStrangersWrapperBreaksC4) {
  watch::WrapperTaken(native_, wrapper_);
  const int second = watch::WrapperMade(watch::NativeMade());
  EXPECT_DEATH(watch::WrapperTaken(native_, second),
               "wrong-value C4: A weak reference to native object 1 took wrapper 2, which is of native object 2");
}

TEST_F(WatchTest, AWrapperThatEndsWhileItsObjectIsHeldBreaksC3) {
  EXPECT_DEATH(watch::DeallocBegins(wrapper_, 2), "protocol C3: Wrapper 1 ends while its native object has 2 strong references");
}

TEST_F(WatchTest, AFreedWrapperInTheSlotBreaksO4) { EXPECT_DEATH(watch::WrapperGone(wrapper_), "delete-while-held O4"); }

TEST_F(WatchTest, AWrapperThatIsFreedTwiceBreaksC2) {
  watch::WrapperWithdrawn(wrapper_);
  watch::WrapperGone(wrapper_);
  EXPECT_DEATH(watch::WrapperGone(wrapper_), "double-delete C2");
}

TEST_F(WatchTest, ANativeObjectThatEndsUnderItsWrapperBreaksO1) {
  EXPECT_DEATH(watch::NativeGone(native_), "delete-while-held O1");
}

TEST_F(WatchTest, AReferenceThatIsNotGivenBackBreaksC6) {
  watch::WrapperWithdrawn(wrapper_);
  watch::NativeOwns(native_, +1);
  EXPECT_DEATH(watch::NativeGone(native_), "protocol C6");
}

TEST_F(WatchTest, WhatIsLeftAtTheEndIsMissing) {
  EXPECT_DEATH(watch::Judge(), "missing-delete O1");
  watch::WrapperWithdrawn(wrapper_);
  watch::NativeGone(native_);
  EXPECT_DEATH(watch::Judge(), "missing-delete C6");
  watch::WrapperLeaked(wrapper_);
  watch::Judge();
}

TEST_F(WatchTest, AWeakReferenceThatExpiresTooEarlyBreaksC5) { EXPECT_DEATH(watch::WronglyExpired(native_), "protocol C5"); }

TEST_F(WatchTest, AWrapperThatIsNotFoundAlthoughItIsThereBreaksC7) {
  EXPECT_DEATH(watch::WronglyNotFound(native_), "protocol C7: A lookup did not find the wrapper of native object 1");
}

TEST_F(WatchTest, ACallIntoUnloadedCodeBreaksD1) {
  watch::CodeCalled(0);
  watch::Unloaded(0);
  watch::CodeCalled(1);
  EXPECT_DEATH(watch::CodeCalled(0), "use-after-delete D1");
}

TEST_F(WatchTest, ACallThatLeavesItsThreadElsewhereBreaksD4) {
  EXPECT_DEATH(watch::LeftElsewhere(1), "protocol D4: A call into interpreter 1");
}

TEST_F(WatchTest, AWrapperThatIsGivenUpTwiceBreaksD3) {
  watch::WrapperLeaked(wrapper_);
  EXPECT_DEATH(watch::WrapperLeaked(wrapper_), "double-delete D3");
}

void Forget() {
  ForgetThreads();
  lock_order::Reset();
}

TEST(Runtime, AReferenceWithoutAnAttachedThreadBreaksS0) {
  Forget();
  Runtime runtime(Mode::kFreeThreaded, 0);
  Object object(runtime, nullptr, nullptr);
  EXPECT_DEATH(Incref(0, &object), "no-thread-state S0");
  EXPECT_DEATH(Decref(0, &object), "no-thread-state S0");
}

TEST(Runtime, AReferenceInAnotherInterpreterBreaksT3) {
  Forget();
  Runtime home(Mode::kGil, 0);
  Runtime other(Mode::kGil, 1);
  Object object(home, nullptr, nullptr);
  const Attached attached(0, other);
  EXPECT_DEATH(Incref(0, &object), "no-thread-state T3: .* but to another one");
}

TEST(Runtime, AttachingFailsOnceTheInterpreterHasEnded) {
  Forget();
  for (const Mode mode : {Mode::kGil, Mode::kFreeThreaded}) {
    Runtime runtime(mode, 0);
    ASSERT_TRUE(runtime.Attach(0));
    runtime.End(0);
    EXPECT_EQ(Current(0), nullptr);
    EXPECT_FALSE(Attached(0, runtime));
    EXPECT_TRUE(runtime.Begin(0));
    const Attached again(0, runtime);
    EXPECT_TRUE(again);
    EXPECT_EQ(runtime.Generation(), 1);
  }
}

TEST(Runtime, AnAllocationCollectsWhatWasDiscarded) {
  Forget();
  static int ended = 0;
  Runtime runtime(Mode::kFreeThreaded, 0);
  Object object(runtime, [](int /*thread*/, Object* /*self*/) { ++ended; }, nullptr);
  const Attached attached(0, runtime);
  runtime.BeforeAllocation(0);
  EXPECT_EQ(ended, 0);
  runtime.Discard(0, &object);
  EXPECT_EQ(ended, 0);
  runtime.BeforeAllocation(0);
  EXPECT_EQ(ended, 1);
  runtime.Collect(0);
  EXPECT_EQ(ended, 1);
}

struct Counted : Object {
  using Object::Object;
  long own = 1;
};

class FreeListTest : public testing::Test {
 protected:
  FreeListTest() {
    Forget();
    list_.Give(0, first_);
  }
  Runtime runtime_{Mode::kFreeThreaded, 0};
  FreeList<Counted> list_;
  Counted* const first_ = new Counted(runtime_, nullptr, nullptr);  // the list's
};

TEST_F(FreeListTest, AThreadGetsBackWhatItFreedLast) {
  auto* second = new Counted(runtime_, nullptr, nullptr);
  list_.Give(0, second);
  EXPECT_EQ(list_.Take(1), nullptr);
  EXPECT_EQ(list_.Take(0), second);
  EXPECT_EQ(list_.Take(0), first_);
  EXPECT_EQ(list_.Take(0), nullptr);
  list_.Give(1, second);
  list_.Give(0, first_);
}

TEST_F(FreeListTest, TheCountOfAFreedObjectIsReadable) { EXPECT_EQ(first_->references.load(), 1); }

// AddressSanitizer says so at once, else it is seen when the memory is used again.
TEST_F(FreeListTest, AWriteToAFreedObjectIsFound) {
  const auto write = [&] {
    *static_cast<volatile long*>(&first_->own) = 2;
    list_.Take(0);
  };
  EXPECT_DEATH(write(), "use-after-poison|use-after-delete S0: A freed object was written to");
}

TEST(Runtime, AttachingElsewhereLetsGoOfTheFirstGil) {
  Forget();
  Runtime first(Mode::kGil, 0);
  Runtime second(Mode::kGil, 1);
  const Attached outer(0, first);
  {
    const Attached inner(0, second);
    EXPECT_EQ(Current(0), &second);
    EXPECT_TRUE(Attached(1, first));  // free meanwhile
  }
  EXPECT_EQ(Current(0), &first);
}

}  // namespace
}  // namespace handoff::interpreter
