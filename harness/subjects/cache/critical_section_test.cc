#include "harness/subjects/cache/critical_section.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "harness/oracle/lock_order.h"
#include "harness/subjects/cache/progress.h"

namespace handoff::cache {
namespace {

using interpreter::Attached;
using interpreter::Detached;
using interpreter::Mode;
using interpreter::Runtime;

// Asked by a thread of its own: a mutex may not be tried by whoever has it.
bool IsFree(ObjectLock& lock) {
  bool free = false;
  std::thread([&] {
    free = lock.TryTake();
    if (free) lock.Give();
  }).join();
  return free;
}

class CriticalSectionTest : public testing::Test {
 protected:
  void SetUp() override {
    lock_order::Reset();
    progress::Reset();
    interpreter::ForgetThreads();
    Sections::Forget();
    runtime_ = std::make_unique<Runtime>(Mode::kFreeThreaded, 0, &sections_);
  }

  Sections sections_;
  std::unique_ptr<Runtime> runtime_;
  ObjectLock lock_;
  ObjectLock other_;
};

TEST_F(CriticalSectionTest, KeepsOthersOutWhileItsThreadIsAttached) {
  const Attached attached(0, *runtime_);
  {
    const CriticalSection section(0, lock_);
    EXPECT_FALSE(IsFree(lock_));
  }
  EXPECT_TRUE(IsFree(lock_));
}

TEST_F(CriticalSectionTest, IsSuspendedWhileItsThreadIsDetached) {
  const Attached attached(0, *runtime_);
  const CriticalSection section(0, lock_);
  {
    const Detached detached(0);
    EXPECT_TRUE(IsFree(lock_));
  }
  EXPECT_FALSE(IsFree(lock_));
}

TEST_F(CriticalSectionTest, IsSuspendedWhileItsThreadStopsTheWorld) {
  const Attached attached(0, *runtime_);
  const CriticalSection section(0, lock_);
  runtime_->StopTheWorld(0);
  EXPECT_TRUE(IsFree(lock_));
  runtime_->StartTheWorld(0);
  EXPECT_FALSE(IsFree(lock_));
}

TEST_F(CriticalSectionTest, TheOuterOneIsResumedWhenTheInnerOneEnds) {
  const Attached attached(0, *runtime_);
  const CriticalSection outer(0, lock_);
  {
    const CriticalSection inner(0, other_);
    EXPECT_FALSE(IsFree(lock_));
    {
      const Detached detached(0);
    }
    EXPECT_TRUE(IsFree(lock_));
    EXPECT_FALSE(IsFree(other_));
  }
  EXPECT_FALSE(IsFree(lock_));
  EXPECT_TRUE(IsFree(other_));
}

TEST_F(CriticalSectionTest, OneInTheSameObjectsSectionDoesNothing) {
  const Attached attached(0, *runtime_);
  const CriticalSection outer(0, lock_);
  {
    const CriticalSection inner(0, lock_);
  }
  EXPECT_FALSE(IsFree(lock_));
}

TEST_F(CriticalSectionTest, WaitsDetachedSoThatTheWorldCanBeStopped) {
  const Attached attached(0, *runtime_);
  std::thread other;
  {
    const CriticalSection section(0, lock_);
    other = std::thread([&] {
      const Attached too(1, *runtime_);
      const CriticalSection waits(1, lock_);
      EXPECT_FALSE(IsFree(lock_));
    });
    // Comes back whatever the other one does: it is not attached yet, or it is detached while it waits, or it has ended.
    runtime_->StopTheWorld(0);
    runtime_->StartTheWorld(0);
  }
  {
    const Detached detached(0);
    other.join();
  }
  EXPECT_TRUE(IsFree(lock_));
}

TEST_F(CriticalSectionTest, ARuntimeThatHasEndedTellsItsListenerNothingOfBeingAttached) {
  ASSERT_TRUE(runtime_->Attach(0));
  runtime_->End(0);
  EXPECT_FALSE(runtime_->Attach(0));
  EXPECT_EQ(interpreter::Current(0), nullptr);
}

class ProgressDeathTest : public CriticalSectionTest {
 protected:
  void SetUp() override {
    CriticalSectionTest::SetUp();
    progress::Wants(2);
    progress::Got(2);
  }
};

TEST_F(ProgressDeathTest, ACallbackUnderATablesLockBreaksInvariant10) {
  EXPECT_DEATH(progress::RunsCallback(2), "lock-order invariant 10: C runs a callback");
}

TEST_F(ProgressDeathTest, AttachingWithATablesLockBreaksInvariant10) {
  EXPECT_DEATH((void)runtime_->Attach(2), "lock-order invariant 10: C waits to attach");
}

TEST_F(ProgressDeathTest, ASecondTablesLockBreaksInvariant10) {
  EXPECT_DEATH(progress::Wants(2), "lock-order invariant 10: C waits for a table's lock");
}

TEST_F(ProgressDeathTest, ALockFreeLookupThatWaitsBreaksInvariant10) {
  {
    const progress::LockFreeLookup lookup(1);
    EXPECT_DEATH(progress::Wants(1), "lock-order invariant 10: B waits for a table's lock in a lookup");
    EXPECT_DEATH(progress::RunsCallback(1), "lock-order invariant 10: B runs a callback in a lookup");
  }
  progress::Wants(1);
}

TEST_F(ProgressDeathTest, WhatWasGivenBackIsNoReproach) {
  progress::Gives(2);
  progress::RunsCallback(2);
  progress::Wants(2);
  EXPECT_TRUE(runtime_->Attach(2));
  runtime_->Detach(2);
}

}  // namespace
}  // namespace handoff::cache
