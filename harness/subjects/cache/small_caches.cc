#include "harness/subjects/cache/small_caches.h"

#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"

namespace handoff::cache {

using oracle::Fail;

void SmallCaches::CallLoop(int thread, bool of_thread) {
  LoopData* data = of_thread ? of_threads_.Take(thread, thread) : pool_.Take(thread);
  HANDOFF_SYNC_POINT(&pool_, "in loop");
  if (const int found = data->user_data; found != thread) {
    Fail("wrong-value", "free list",
         "The loop that %c called found the data of %c. Expected an entry to be in the free list or in one caller's hands.",
         'A' + thread, 'A' + found);
  }
  if (of_thread) return of_threads_.Keep(thread, data);
  pool_.Give(data);
}

void SmallCaches::ExitThread(int thread) { of_threads_.Exit(thread); }

void SmallCaches::Parse(int keyword) {
  if (const int found = keywords_.Find(keyword); found != keyword) {
    Fail("wrong-value", "keyword table",
         "Keyword %d was found at position %d of the table. Expected the table to be full before anybody is told so.", keyword,
         found);
  }
}

void SmallCaches::Import(int module, int needs, bool fails) {
  const Module* found = imports_.Import(module, needs, fails);
  if (found != nullptr ? found->number == module : fails) return;
  Fail("wrong-value", "import cache", "Importing module %d gave module %d (-1: none).", module,
       found == nullptr ? -1 : found->number);
}

void SmallCaches::Pack(int first, int second, int third) {
  Allocator* const wanted[] = {&allocators_[first], &allocators_[second], &allocators_[third]};
  AddStrings(wanted);
  for (int a = 0; a < kAllocators; ++a) {
    if (a == first || a == second || a == third) packed_[a].fetch_add(1, std::memory_order_relaxed);
  }
}

void SmallCaches::Fetch(int thread, int native) {
  Wrapper*& held = held_[thread][native];
  if (held == nullptr) held = wrappers_.Fetch(native);
  if (held->native == native) return;
  Fail("wrong-value", "wrapper map", "Native object %d was given the wrapper of %d.", native, held->native);
}

void SmallCaches::DropWrapper(int thread, int native) {
  if (Wrapper* held = std::exchange(held_[thread][native], nullptr); held != nullptr) wrappers_.Drop(held);
}

void SmallCaches::End() {
  imports_.Check();
  of_threads_.Check();
  for (int a = 0; a < kAllocators; ++a) {
    const int expected = packed_[a].load(std::memory_order_relaxed);
    if (allocators_[a].strings == expected) continue;
    Fail("wrong-value", "allocators", "Allocator %d has %d strings. Expected %d, one for each operation that named it.", a,
         allocators_[a].strings, expected);
  }
  for (const auto& row : held_) {
    for (const Wrapper* held : row) {
      if (held != nullptr) wrappers_.CheckIdentity(held);
    }
  }
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    for (int native = 0; native < WrapperMap::kNatives; ++native) DropWrapper(thread, native);
  }
}

}  // namespace handoff::cache
