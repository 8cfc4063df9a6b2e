#include "harness/subjects/cache/buffer_records.h"

#include <optional>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

using oracle::Fail;

void Read(int thread, const BufferRecord& record, int layout) {
  if (record.layout == layout) return;
  Fail("wrong-value", "buffer records",
       "The buffer that %c exported with layout %d has layout %d. Expected its record to stay as it is.", 'A' + thread, layout,
       record.layout);
}

}  // namespace

BufferArrays::BufferArrays(int threads) {
  for (int a = 0; a < kArrays; ++a) {
    auto* array = new BufferArray;
    array->lock = &locks_[a];
    array->references.store(threads, std::memory_order_relaxed);
    for (int thread = 0; thread < threads; ++thread) arrays_[thread][a] = array;
  }
}

// The array's newest record if it has this layout, or else a new one.
BufferRecord* BufferArrays::RecordOf(int thread, BufferArray& array, int layout) {
  std::optional<CriticalSection> section;
  if (!Has(Defect::kRecordAppendedOutside)) section.emplace(thread, *array.lock);
  BufferRecord* newest = array.records;
  if (newest != nullptr && newest->layout == layout) return newest;
  if (newest != nullptr && Has(Defect::kRecordChangedInPlace)) {
    newest->layout = layout;
    return newest;
  }
  // Relaxed: only the number counts.
  records_.fetch_add(1, std::memory_order_relaxed);
  return array.records = new BufferRecord{layout, newest};
}

void BufferArrays::Export(int thread, int array, int layout) {
  Buffer& buffer = buffers_[thread][array];
  BufferArray* exporter = arrays_[thread][array];
  if (buffer.array == nullptr && exporter != nullptr) {
    // Relaxed: the thread's own reference keeps the array alive.
    exporter->references.fetch_add(1, std::memory_order_relaxed);
    buffer = {exporter, RecordOf(thread, *exporter, layout), layout};
  }
  HANDOFF_SYNC_POINT(&locks_[array], "read buffer");
  if (buffer.array != nullptr) Read(thread, *buffer.record, buffer.layout);
}

void BufferArrays::Release(int thread, int array) {
  const Buffer buffer = std::exchange(buffers_[thread][array], Buffer());
  if (buffer.array == nullptr) return;
  Read(thread, *buffer.record, buffer.layout);
  if (Has(Defect::kRecordFreedAtRelease)) FreeRecord(thread, buffer);
  DropReference(buffer.array);
}

// Of the twin: takes the buffer's record out of the list, unless another buffer's release has done so.
void BufferArrays::FreeRecord(int thread, const Buffer& buffer) {
  const CriticalSection section(thread, *buffer.array->lock);
  BufferRecord** link = &buffer.array->records;
  while (*link != nullptr && *link != buffer.record) link = &(*link)->next;
  if (*link == nullptr) return;
  delete std::exchange(*link, buffer.record->next);
  records_.fetch_sub(1, std::memory_order_relaxed);
}

void BufferArrays::Drop(int thread, int array) {
  if (BufferArray* held = std::exchange(arrays_[thread][array], nullptr); held != nullptr) DropReference(held);
}

void BufferArrays::DropReference(BufferArray* array) {
  HANDOFF_SYNC_POINT(array->lock, "drop array");
  // Release: our uses come before the free. Acquire: so do those of all who dropped theirs before us.
  if (array->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  while (array->records != nullptr) {
    delete std::exchange(array->records, array->records->next);
    records_.fetch_sub(1, std::memory_order_relaxed);
  }
  delete array;
}

void BufferArrays::Visit(int thread) const {
  for (const BufferArray* array : arrays_[thread]) {
    if (array == nullptr) continue;
    for (const BufferRecord* record = array->records; record != nullptr && record->next != nullptr; record = record->next) {
      if (record->layout != record->next->layout) continue;
      Fail("protocol", "buffer records",
           "Two records of an array that follow each other have layout %d. Expected the newest to be used when it equals the one "
           "that is wanted.",
           record->layout);
    }
  }
}

void BufferArrays::End() {
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    for (int array = 0; array < kArrays; ++array) {
      const Buffer buffer = std::exchange(buffers_[thread][array], Buffer());
      if (buffer.array != nullptr) DropReference(buffer.array);
      Drop(thread, array);
    }
  }
  const int left = records_.load(std::memory_order_relaxed);
  if (left == 0) return;
  Fail("missing-delete", "buffer records",
       "%d records are left when all arrays are gone. Expected each to be in its array's list, and to be freed with it.", left);
}

}  // namespace handoff::cache
