#include "harness/subjects/cache/buffer_records.h"

#include <gtest/gtest.h>

#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

class BufferRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    Sections::Forget();
    Install(Defect::kNone);
  }
  void TearDown() override { Install(Defect::kNone); }
};

TEST_F(BufferRecordsTest, RecordsGoWithTheLastBufferOfADroppedArray) {
  BufferArrays arrays(2);
  arrays.Export(0, 0, 0);
  arrays.Export(1, 0, 1);
  arrays.Drop(0, 0);
  arrays.Drop(1, 0);
  arrays.Release(0, 0);
  arrays.Export(1, 0, 0);  // has one with layout 1, and reads that
  arrays.Release(1, 0);
  arrays.End();
}

TEST_F(BufferRecordsTest, ADroppedArrayIsNotExported) {
  BufferArrays arrays(1);
  arrays.Drop(0, 1);
  arrays.Export(0, 1, 0);
  arrays.Release(0, 1);
  arrays.End();
}

TEST_F(BufferRecordsTest, ARecordThatChangesUnderABufferIsAWrongValue) {
  Install(Defect::kRecordChangedInPlace);
  BufferArrays arrays(2);
  arrays.Export(0, 0, 0);
  arrays.Export(1, 0, 1);
  EXPECT_DEATH(arrays.Release(0, 0), "wrong-value buffer records: The buffer that A exported with layout 0 has layout 1");
  arrays.Release(1, 0);
  arrays.Export(1, 0, 0);
  arrays.End();
}

TEST_F(BufferRecordsTest, AListOutOfWhichARecordWasTakenIsFoundByTheCollector) {
  Install(Defect::kRecordFreedAtRelease);
  BufferArrays arrays(3);
  arrays.Export(0, 0, 0);
  arrays.Export(1, 0, 1);
  arrays.Export(2, 0, 0);
  arrays.Visit(1);
  arrays.Release(1, 0);
  EXPECT_DEATH(arrays.Visit(1), "protocol buffer records: Two records");
  arrays.End();
}

}  // namespace
}  // namespace handoff::cache
