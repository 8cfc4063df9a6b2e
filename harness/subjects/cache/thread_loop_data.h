// The other correct form of the free list of loop data: one list for each thread, without a lock.
//
// Its difficulty is the end of a thread. Destructors of thread-local variables run one after another, and one that runs after the
// list's own may still give an entry back; a list that was destroyed must not take it (compare numpy/numpy#30673, a leak).
// Fibers share thread-local storage, so the lists are an array here, and an operation stands for the end of a thread; its next
// call is a new thread's.
#pragma once

#include <atomic>

#include "harness/case/case.h"
#include "harness/subjects/cache/loop_data.h"

namespace handoff::cache {

// All calls but Check: by the thread that is named.
class ThreadLoopData {
 public:
  // The caller owns the entry until it gives it back, which must be the same thread.
  LoopData* Take(int thread, int user_data);
  void Give(int thread, LoopData* data);
  // Gives it back at the end of the thread, like the iterator that a thread keeps; at once if the thread has one.
  void Keep(int thread, LoopData* data);
  // The thread ends: its list is destroyed first, and what it kept is given back afterwards.
  void Exit(int thread);
  // On the driver, when all have given back what they took: ends all threads, after which no entry may be left.
  void Check();

 private:
  static constexpr int kSize = 5;
  struct List {
    LoopData* free[kSize] = {};  // the first `count`; owned
    int count = 0;
    bool destroyed = false;
    LoopData* kept = nullptr;  // owned
  };

  List lists_[kMaxThreads];
  std::atomic<int> entries_ = 0;  // that exist
};

}  // namespace handoff::cache
