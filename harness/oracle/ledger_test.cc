#include "harness/oracle/ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace handoff::ledger {
namespace {

// A vector of eight bytes in a storage of its own, exported as the struct at `tensor`.
struct Exchange {
  std::array<unsigned char, 8> bytes{};
  int tensor = 0;  // only its address counts
  int storage = 0;
  int number = 0;

  explicit Exchange(bool foreign = false) {
    storage = AddStorage(bytes.data(), bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = PayloadByte(storage, i);
    View view;
    view.storage = storage;
    view.rank = 1;
    view.shape[0] = 4;
    view.strides[0] = -1;
    view.origin = 6;
    view.item_size = 2;
    view.foreign = foreign;
    number = Exported(&tensor, view);
  }
  void Delete() { DeleterCalled(&tensor); }
  void Free() { StorageFreed(storage); }
};

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override { Reset(); }
};

TEST_F(LedgerTest, AConsumedTensorDeletedOnceIsClean) {
  Exchange e;
  EXPECT_TRUE(Outstanding());
  EXPECT_EQ(Consumed(&e.tensor), e.number);
  Released(e.number, Owner::kConsumer);
  e.Delete();
  e.Free();
  EXPECT_FALSE(Outstanding());
  Judge();
}

TEST_F(LedgerTest, AnUnconsumedTensorDeletedByItsHandleIsClean) {
  Exchange e;
  Released(NumberOf(&e.tensor), Owner::kHandle);
  e.Delete();
  e.Free();
  Judge();
}

TEST_F(LedgerTest, AnAddressMayBeUsedAgainAfterTheDeleter) {
  Exchange e;
  Released(e.number, Owner::kHandle);
  e.Delete();
  View view;
  view.storage = e.storage;
  const int second = Exported(&e.tensor, view);
  EXPECT_NE(second, e.number);
  EXPECT_EQ(NumberOf(&e.tensor), second);
}

TEST_F(LedgerTest, ASecondDeleterCallIsADoubleDelete) {
  Exchange e;
  Released(e.number, Owner::kHandle);
  e.Delete();
  EXPECT_DEATH(e.Delete(), "double-delete R3");
}

TEST_F(LedgerTest, ReleasingTwiceIsADoubleDelete) {
  Exchange e;
  Consumed(&e.tensor);
  Released(e.number, Owner::kConsumer);
  EXPECT_DEATH(Released(e.number, Owner::kHandle), "double-delete R3");
}

TEST_F(LedgerTest, AHandleThatDeletesAConsumedTensorBreaksR10) {
  Exchange e;
  Consumed(&e.tensor);
  EXPECT_DEATH(Released(e.number, Owner::kHandle), "delete-while-held R10");
}

TEST_F(LedgerTest, AConsumerThatDeletesWithoutTakingBreaksR8) {
  Exchange e;
  EXPECT_DEATH(Released(e.number, Owner::kConsumer), "protocol R8");
}

TEST_F(LedgerTest, ADeleterThatNobodyAnnouncedBreaksR5) {
  Exchange e;
  EXPECT_DEATH(e.Delete(), "delete-while-held R5.*not consumed yet");
}

TEST_F(LedgerTest, DeletingWhileSomebodyReadsBreaksR5) {
  Exchange e;
  Consumed(&e.tensor);
  Borrowed(e.number);
  Released(e.number, Owner::kConsumer);
  EXPECT_DEATH(e.Delete(), "delete-while-held R5.*1 read it");
  Returned(e.number);
  e.Delete();
}

TEST_F(LedgerTest, UseAfterTheDeleterBreaksR2) {
  Exchange e;
  Consumed(&e.tensor);
  Released(e.number, Owner::kConsumer);
  e.Delete();
  const std::int64_t index = 0;
  EXPECT_DEATH(Borrowed(e.number), "use-after-delete R2");
  EXPECT_DEATH(ElementRead(e.number, &index, e.bytes.data()), "use-after-delete R2");
  EXPECT_DEATH(Consumed(&e.tensor), "use-after-delete R2");
}

TEST_F(LedgerTest, ASecondConsumerBreaksR9) {
  Exchange e;
  Consumed(&e.tensor);
  EXPECT_DEATH(Consumed(&e.tensor), "double-consume R9");
}

TEST_F(LedgerTest, TouchingAForeignMajorVersionBreaksR12) {
  Exchange e(/*foreign=*/true);
  Consumed(&e.tensor);
  EXPECT_DEATH(Borrowed(e.number), "protocol R12");
}

TEST_F(LedgerTest, AnUnknownStructIsAProtocolError) {
  int stranger = 0;
  EXPECT_EQ(NumberOf(&stranger), 0);
  EXPECT_DEATH(Consumed(&stranger), "protocol R8");
  EXPECT_DEATH(DeleterCalled(&stranger), "protocol R2");
  EXPECT_DEATH(Released(0, Owner::kHandle), "protocol R2");
}

TEST_F(LedgerTest, ElementsFollowTheAddressFormula) {
  Exchange e;
  Consumed(&e.tensor);
  for (std::int64_t i = 0; i < 4; ++i) ElementRead(e.number, &i, &e.bytes[static_cast<std::size_t>(6 - 2 * i)]);
  const std::int64_t index = 1;
  EXPECT_DEATH(ElementRead(e.number, &index, &e.bytes[6]), "wrong-value R19.*byte 4 of storage 1");
}

TEST_F(LedgerTest, AWrongShapeIsAWrongValue) {
  Exchange e;
  Consumed(&e.tensor);
  const std::array<std::int64_t, 2> right = {4, 0};
  const std::array<std::int64_t, 2> wrong = {3, 0};
  ShapeSeen(e.number, 1, right.data());
  EXPECT_DEATH(ShapeSeen(e.number, 2, right.data()), "wrong-value R16");
  EXPECT_DEATH(ShapeSeen(e.number, 1, wrong.data()), "wrong-value R4.*is 4, and its consumer sees 3");
}

TEST_F(LedgerTest, AChangedPayloadIsFoundAtTheDeleter) {
  Exchange e;
  Released(e.number, Owner::kHandle);
  e.bytes[5] ^= 1;
  EXPECT_DEATH(e.Delete(), "wrong-value R4.*Byte 5");
}

TEST_F(LedgerTest, FreeingTheStorageOfALivingTensorBreaksR4) {
  Exchange e;
  EXPECT_DEATH(e.Free(), "delete-while-held R4");
}

TEST_F(LedgerTest, FreeingAStorageTwiceIsADoubleDelete) {
  Exchange e;
  Released(e.number, Owner::kHandle);
  e.Delete();
  e.Free();
  EXPECT_DEATH(e.Free(), "double-delete R4");
}

TEST_F(LedgerTest, WhatIsLeftAtTheEndIsMissing) {
  Exchange e;
  EXPECT_DEATH(Judge(), "missing-delete R3.*tensor 1.*not consumed yet");
  Consumed(&e.tensor);
  EXPECT_DEATH(Judge(), "missing-delete R3.*held by its consumer");
  Released(e.number, Owner::kConsumer);
  e.Delete();
  EXPECT_DEATH(Judge(), "storage-leak R4.*Storage 1");
}

TEST_F(LedgerTest, TooManyTensorsAreAnErrorOfTheHarness) {
  const View view;
  for (int i = 0; i < kMaxTensors; ++i) Exported(&view, view);
  EXPECT_DEATH(Exported(&view, view), "verdict: harness: .*kMaxTensors");
}

TEST_F(LedgerTest, PayloadsDifferBetweenNeighboursAndStorages) {
  for (std::size_t i = 0; i < kMaxStorageBytes; ++i) {
    for (std::size_t k = i + 1; k < kMaxStorageBytes; ++k) EXPECT_NE(PayloadByte(1, i), PayloadByte(1, k));
    EXPECT_NE(PayloadByte(1, i), PayloadByte(2, i));
  }
}

TEST_F(LedgerTest, ThreadsThatReallyRunAtTheSameTimeAreAllCounted) {
  constexpr int kThreads = 4;
  constexpr int kRounds = kMaxTensors / kThreads - 1;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        Exchange e;
        Consumed(&e.tensor);
        Released(e.number, Owner::kConsumer);
        e.Delete();
        e.Free();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Judge();
  const View view;
  EXPECT_EQ(Exported(&view, view), kThreads * kRounds + 1);
}

}  // namespace
}  // namespace handoff::ledger
