#include "harness/oracle/ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace handoff::ledger {
namespace {

// A vector of eight bytes in a storage of its own, exported as the struct at `tensor`.
struct Exchange {
  std::array<unsigned char, 8> bytes{};  // the payload
  int tensor = 0;                        // only its address counts
  int storage = 0;
  int number = 0;

  explicit Exchange(bool foreign = false) {
    storage = AddStorage(bytes.data(), bytes.size());
    const std::uint64_t payload = Payload(storage, 0);
    std::memcpy(bytes.data(), &payload, bytes.size());
    View view;
    view.storage = storage;
    view.rank = 1;
    view.shape[0] = 4;
    view.strides[0] = -1;
    view.origin = 6;
    view.item_bits = 16;
    view.value_bits = 16;
    view.foreign = foreign;
    number = Exported(&tensor, view);
  }
  // Two bytes from `offset`, as a consumer reads them.
  std::uint64_t At(std::size_t offset) const { return bytes[offset] | std::uint64_t{bytes[offset + 1]} << 8; }
  void Delete() { DeleterCalled(&tensor); }
  void Free() const { StorageFreed(storage); }
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
  EXPECT_TRUE(Outstanding());
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

TEST_F(LedgerTest, AReexportShowsTheValuesOfItsOriginal) {
  Exchange e;
  Consumed(&e.tensor);
  int tensor = 0;
  const int second = Exported(&tensor, Meaning(e.number));
  ElementRead(second, 3, e.At(0), 0);
  Released(e.number, Owner::kConsumer);
  e.Delete();
  EXPECT_DEATH(Meaning(e.number), "use-after-delete R2");
}

TEST_F(LedgerTest, ACopyHoldsTheElementsInRowMajorOrder) {
  Exchange e;
  std::array<unsigned char, 8> bytes{};
  const int copy = AddCopy(bytes.data(), bytes.size(), Meaning(e.number));
  for (std::size_t k = 0; k < 4; ++k) std::memcpy(&bytes[2 * k], &e.bytes[6 - 2 * k], 2);
  View view = Meaning(e.number);
  view.storage = copy;
  view.strides[0] = 1;
  view.origin = 0;
  int tensor = 0;
  const int number = Exported(&tensor, view);
  ElementRead(number, 1, e.At(4), 0);
  EXPECT_DEATH(ElementRead(number, 1, e.At(2), 0), "wrong-value R19");
  Released(number, Owner::kHandle);
  DeleterCalled(&tensor);
}

TEST_F(LedgerTest, ABorrowedViewDiesWithItsStorage) {
  Exchange e;
  const View view = Meaning(e.number);
  BorrowedRead(view, 0, e.At(6), 0);
  EXPECT_DEATH(BorrowedRead(view, 0, e.At(4), 0), "wrong-value R19");
  Released(e.number, Owner::kHandle);
  e.Delete();
  e.Free();
  EXPECT_DEATH(BorrowedUse(view), "use-after-delete R38");
  EXPECT_DEATH(BorrowedRead(view, 0, e.At(6), 0), "use-after-delete R38");
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
  EXPECT_DEATH(Released(e.number, Owner::kConsumer), "double-delete R3");
}

TEST_F(LedgerTest, AHandleThatDeletesAConsumedTensorBreaksR10) {
  Exchange e;
  Consumed(&e.tensor);
  EXPECT_DEATH(Released(e.number, Owner::kHandle), "double-delete R10.*held by its consumer");
  Released(e.number, Owner::kConsumer);
  e.Delete();
  EXPECT_DEATH(Released(e.number, Owner::kHandle), "double-delete R10.*which is deleted");
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
  EXPECT_DEATH(Borrowed(e.number), "use-after-delete R2");
  EXPECT_DEATH(ElementRead(e.number, 0, e.At(6), 0), "use-after-delete R2");
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

TEST_F(LedgerTest, AForeignAnswerToAMaxVersionBreaksR14) {
  Exchange e(/*foreign=*/true);
  AskedByVersion(&e.tensor);
  Consumed(&e.tensor);
  EXPECT_DEATH(Borrowed(e.number), "protocol R14");
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
  for (std::int64_t k = 0; k < 4; ++k) ElementRead(e.number, k, e.At(static_cast<std::size_t>(6 - 2 * k)), 0);
  EXPECT_DEATH(ElementRead(e.number, 1, e.At(6), 0), "wrong-value R19.*byte 4 of storage 1");
}

TEST_F(LedgerTest, PackedElementsAreComparedBitByBit) {
  std::uint64_t word = 0;
  View view;
  view.storage = AddStorage(&word, sizeof word);
  word = Payload(view.storage, 0);
  view.rank = 1;
  view.shape[0] = 16;
  view.strides[0] = 1;
  view.item_bits = 4;
  view.value_bits = 4;
  const int packed = Exported(&word, view);
  for (std::int64_t k = 0; k < 16; ++k) ElementRead(packed, k, word >> (4 * k) & 0xf, 0);
  EXPECT_DEATH(ElementRead(packed, 3, word >> 8 & 0xf, 0), "wrong-value R19.*byte 1 of storage 1");
  view.item_bits = 8;
  const int padded = Exported(&word, view);
  ElementRead(padded, 1, word >> 8 & 0xf, 0);
  EXPECT_DEATH(ElementRead(padded, 1, word >> 4 & 0xf, 0), "wrong-value R21.*packed");
  EXPECT_DEATH(ElementRead(padded, 1, word >> 24 & 0xf, 0), "wrong-value R19");
}

TEST_F(LedgerTest, AValueReadWithoutByteOffsetBreaksR20) {
  Exchange e;
  View view = Meaning(e.number);
  view.offset = 2;
  int tensor = 0;
  const int number = Exported(&tensor, view);
  ElementRead(number, 1, e.At(4), 0);
  EXPECT_DEATH(ElementRead(number, 1, e.At(2), 0), "wrong-value R20.*byte_offset");
  EXPECT_DEATH(ElementRead(number, 1, e.At(0), 0), "wrong-value R19");
}

TEST_F(LedgerTest, KeepingWhatShouldBeRefusedNamesTheRule) {
  int tensor = 0;
  View view;
  view.refusal = "R23";
  const int number = Exported(&tensor, view);
  EXPECT_DEATH(Accepted(number), "protocol R23");
}

TEST_F(LedgerTest, ATensorIsHeldUntilItsOwnerReleasesIt) {
  Exchange e;
  EXPECT_TRUE(Held(&e.tensor));
  Consumed(&e.tensor);
  EXPECT_TRUE(Held(&e.tensor));
  Released(e.number, Owner::kConsumer);
  EXPECT_FALSE(Held(&e.tensor));
}

TEST_F(LedgerTest, CallingANullDeleterBreaksR1) {
  CheckDeleter(1, /*present=*/true);
  EXPECT_DEATH(CheckDeleter(1, /*present=*/false), "protocol R1");
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

TEST_F(LedgerTest, WhatNobodyTookIsTheFaultOfWhereItWas) {
  Exchange e;
  Travels(e.number, Way::kHandle);
  EXPECT_DEATH(Judge(), "missing-delete R7.*not consumed yet");
  Travels(e.number, Way::kApi);
  EXPECT_DEATH(Judge(), "missing-delete R39.*not consumed yet");
  Consumed(&e.tensor);
  EXPECT_DEATH(Judge(), "missing-delete R3:");
  EXPECT_DEATH(Released(e.number, Owner::kGiver), "double-delete R39");
}

TEST_F(LedgerTest, AnObjectThatIsLeftIsALeak) {
  ObjectMade();
  ObjectMade();
  ObjectGone();
  EXPECT_TRUE(Outstanding());
  EXPECT_DEATH(Judge(), "verdict: object-leak: 1 objects");
  ObjectGone();
  EXPECT_FALSE(Outstanding());
  Judge();
}

TEST_F(LedgerTest, TooManyTensorsAreAnErrorOfTheHarness) {
  const View view;
  for (int i = 0; i < kMaxTensors; ++i) Exported(&view, view);
  EXPECT_DEATH(Exported(&view, view), "verdict: harness: .*kMaxTensors");
}

TEST_F(LedgerTest, TheBytesOfAPayloadAndOfTwoStoragesDiffer) {
  const auto byte = [](int storage, std::size_t i) { return Payload(storage, i / 8) >> (8 * (i % 8)) & 0xff; };
  for (std::size_t i = 0; i < kMaxStorageBytes; ++i) {
    for (std::size_t k = i + 1; k < kMaxStorageBytes; ++k) EXPECT_NE(byte(1, i), byte(1, k));
    EXPECT_NE(byte(1, i), byte(2, i));
  }
}

TEST_F(LedgerTest, LargeElementsAreComparedInTwoHalves) {
  std::array<std::uint64_t, 2> words{};
  View view;
  view.storage = AddStorage(words.data(), sizeof words);
  view.item_bits = 128;
  view.value_bits = 128;
  words = {Payload(view.storage, 0), Payload(view.storage, 1)};
  const int number = Exported(&words, view);
  ElementRead(number, 0, words[0], words[1]);
  EXPECT_DEATH(ElementRead(number, 0, words[0], words[0]), "wrong-value R19.*byte 8");
}

TEST_F(LedgerTest, ThreadsThatReallyRunAtTheSameTimeAreAllCounted) {
  constexpr int kThreads = 4;
  constexpr int kRounds = kMaxTensors / kThreads - 1;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
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
