// The records of exported buffers: what an array has to keep for those who use its memory (format, shape, strides) until it ends.
//
// A buffer's fields point into a record, so it must live for as long as any buffer may. Records are therefore never taken out of
// the array's list: they are freed with the array, which each buffer keeps alive. An export whose record would equal the newest
// one uses that. The list is read and appended to in the array's critical section; after numpy's buffer.c, our text and code.
#pragma once

#include <atomic>
#include <memory>

#include "harness/case/case.h"
#include "harness/subjects/cache/critical_section.h"

namespace handoff::cache {

struct BufferRecord {
  int layout = 0;
  BufferRecord* next = nullptr;  // owned by the array; an older one
};

struct BufferArray {
  ObjectLock* lock = nullptr;       // not owned
  BufferRecord* records = nullptr;  // owned, newest first; guarded by lock's critical section
  std::atomic<int> references = 0;  // of threads and buffers; the last one frees the array
};

// Arrays that threads share. Calls that name a thread: by that thread, attached.
class BufferArrays {
 public:
  static constexpr int kArrays = 2;
  static constexpr int kLayouts = 2;

  // Each of the threads has a reference to each array.
  explicit BufferArrays(int threads);

  // Makes a buffer of the array, unless the thread has one already or has dropped its reference to the array. Then reads what it
  // has.
  void Export(int thread, int array, int layout);
  // Reads the buffer and gives it up.
  void Release(int thread, int array);
  // Drops the thread's reference.
  void Drop(int thread, int array);

  // While the world is stopped: the lists of the arrays that the thread knows are whole.
  void Visit(int thread) const;
  // On the driver: drops what is left; all records must be gone then.
  void End();

 private:
  struct Buffer {
    BufferArray* array = nullptr;          // owns a reference
    const BufferRecord* record = nullptr;  // not owned
    int layout = 0;                        // that was asked for
  };

  BufferRecord* RecordOf(int thread, BufferArray& array, int layout);
  void FreeRecord(int thread, const Buffer& buffer);
  void DropReference(BufferArray* array);

  ObjectLock locks_[kArrays];
  BufferArray* arrays_[kMaxThreads][kArrays] = {};  // each row by its thread only; owns references
  Buffer buffers_[kMaxThreads][kArrays] = {};       // likewise
  std::atomic<int> records_ = 0;                    // that exist
};

}  // namespace handoff::cache
