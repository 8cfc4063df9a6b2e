#include "harness/subjects/cache/thread_loop_data.h"

#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {

LoopData* ThreadLoopData::Take(int thread, int user_data) {
  List& list = lists_[thread];
  if (list.destroyed) list = List();  // a new thread
  LoopData* data = nullptr;
  if (list.count > 0) {
    data = list.free[--list.count];
  } else {
    data = new LoopData;
    // Relaxed: only the number counts.
    entries_.fetch_add(1, std::memory_order_relaxed);
  }
  data->user_data = user_data;
  return data;
}

void ThreadLoopData::Give(int thread, LoopData* data) {
  List& list = lists_[thread];
  const bool takes_it = !list.destroyed || Has(Defect::kGivenAfterExit);
  if (takes_it && list.count < kSize) {
    list.free[list.count++] = data;
    return;
  }
  delete data;
  entries_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadLoopData::Keep(int thread, LoopData* data) {
  List& list = lists_[thread];
  if (list.kept != nullptr) return Give(thread, data);
  list.kept = data;
}

void ThreadLoopData::Exit(int thread) {
  List& list = lists_[thread];
  for (; list.count > 0; entries_.fetch_sub(1, std::memory_order_relaxed)) delete list.free[--list.count];
  list.destroyed = true;
  if (LoopData* kept = std::exchange(list.kept, nullptr); kept != nullptr) Give(thread, kept);
}

void ThreadLoopData::Check() {
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    if (!lists_[thread].destroyed) Exit(thread);
  }
  const int left = entries_.load(std::memory_order_relaxed);
  if (left == 0) return;
  oracle::Fail(
      "missing-delete", "free list",
      "%d entries of threads' free lists are left when all threads have ended. Expected a list that is destroyed to take "
      "nothing back.",
      left);
}

}  // namespace handoff::cache
