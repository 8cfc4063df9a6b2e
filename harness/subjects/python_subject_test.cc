#include "harness/subjects/python_subject.h"

#include <gtest/gtest.h>

namespace handoff {
namespace {

constexpr ThreadBits kProgram = 0b011;

// Something is left until `rounds` rounds have passed, and CPython waits for `waiting`.
class LeavingSubject final : public PythonSubject {
 public:
  LeavingSubject(int rounds, ThreadBits waiting) : rounds_(rounds), waiting_(waiting) {}
  void Begin(const Case&) override {}
  void Apply(int, Operation) override {}

 private:
  void DropEverything() override {}
  bool Outstanding() override { return rounds_ > 0; }
  void Clean(int) override { --rounds_; }
  void Judge() override {}
  ThreadBits Waiting() const override { return waiting_; }

  int rounds_;
  const ThreadBits waiting_;
};

TEST(PythonSubjectTest, NobodyFinishesIfNothingIsLeft) {
  EXPECT_EQ(LeavingSubject(0, 0b111).NeedsFinish(kProgram), 0U);
  EXPECT_EQ(LeavingSubject(1, 0b111).NeedsFinish(kProgram), 0U) << "the driver did it";
}

TEST(PythonSubjectTest, ThoseWaitedForFinish) { EXPECT_EQ(LeavingSubject(2, 0b110).NeedsFinish(kProgram), 0b010U); }

// The carriers of an earlier, larger program stay, and something may wait for them for ever.
TEST(PythonSubjectTest, AllFinishIfOnlyOthersAreWaitedFor) {
  EXPECT_EQ(LeavingSubject(2, 0).NeedsFinish(kProgram), kProgram);
  EXPECT_EQ(LeavingSubject(2, 0b100).NeedsFinish(kProgram), kProgram);
}

TEST(PythonSubjectTest, WhatIsNeverCleanedEndsAfterSomeRounds) {
  LeavingSubject subject(1'000, 0);
  int rounds = 0;
  while (subject.NeedsFinish(kProgram) != 0) ++rounds;
  EXPECT_EQ(rounds, 8);
}

}  // namespace
}  // namespace handoff
