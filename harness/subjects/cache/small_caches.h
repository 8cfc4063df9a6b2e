// The small caches of one execution: loop data, keywords, imports, string allocators and wrappers, as operations that judge what
// they get. Threads as in Subject::Apply.
#pragma once

#include <atomic>

#include "harness/case/case.h"
#include "harness/subjects/cache/allocators.h"
#include "harness/subjects/cache/import_cache.h"
#include "harness/subjects/cache/keyword_table.h"
#include "harness/subjects/cache/loop_data.h"
#include "harness/subjects/cache/thread_loop_data.h"
#include "harness/subjects/cache/wrapper_map.h"

namespace handoff::cache {

class SmallCaches {
 public:
  static constexpr int kAllocators = 3;

  // Calls a loop that finds its data where it put them; they come from the list that all threads share or from the thread's own.
  void CallLoop(int thread, bool of_thread);
  // The thread ends, and goes on as a new one.
  void ExitThread(int thread);
  // Calls a function with that keyword.
  void Parse(int keyword);
  void Import(int module, int needs, bool fails);
  // Adds a string to each of the allocators; they may be the same.
  void Pack(int first, int second, int third);
  // Makes the thread hold a wrapper of the native object, or uses the one it holds.
  void Fetch(int thread, int native);
  void DropWrapper(int thread, int native);

  // On the driver: judges what is left and drops it.
  void End();

 private:
  LoopDataPool pool_;
  ThreadLoopData of_threads_;
  KeywordTable keywords_;
  ImportCache imports_;
  Allocator allocators_[kAllocators];
  std::atomic<int> packed_[kAllocators] = {};  // relaxed: counts without ordering anybody
  WrapperMap wrappers_;
  Wrapper* held_[kMaxThreads][WrapperMap::kNatives] = {};  // each row by its thread only; owns references
};

}  // namespace handoff::cache
