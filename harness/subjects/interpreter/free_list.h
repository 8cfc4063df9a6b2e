// Freed objects of an interpreter, to be used again: memory that never becomes anything but an object of the same type.
//
// As in a free-threaded CPython (PEP 703, "Mimalloc changes"): whoever looks at a freed object without a reference finds a count
// of references there, of nobody or of the next object in that place, so a conditional incref is defined but may take a stranger.
// All else of a freed object is nobody's: with AddressSanitizer it is poisoned, elsewhere filled with a pattern that must still
// be there when the place is used again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "harness/case/case.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

// Freed memory: poisons it, or fills it. Its next use: fails (kind "use-after-delete") if it was written to meanwhile.
void PoisonFreed(void* begin, std::size_t size);
void UnpoisonFreed(void* begin, std::size_t size);

// T is an Object whose own fields may be written anew. What comes from Object stays readable. Each thread has a list of its own,
// as in CPython: what it frees it gets back, the last one first, so that a list orders nothing between threads.
template <typename T>
class FreeList {
 public:
  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;
  ~FreeList() { Clear(); }

  // An object to be made anew in place, the caller's; null if there is none.
  T* Take(int thread) {
    auto& list = lists_[thread];
    if (list.empty()) return nullptr;
    T* object = list.back().release();
    list.pop_back();
    UnpoisonFreed(Own(object), kOwn);
    return object;
  }
  // Takes over an object whose last reference is gone.
  void Give(int thread, T* object) {
    PoisonFreed(Own(object), kOwn);
    lists_[thread].emplace_back(object);
  }
  // Frees the memory. Nobody else runs, and nobody looks at it any more.
  void Clear() {
    for (auto& list : lists_) {
      for (auto& object : list) UnpoisonFreed(Own(object.get()), kOwn);
      list.clear();
    }
  }

 private:
  static constexpr std::size_t kOwn = sizeof(T) - sizeof(Object);
  static_assert(sizeof(Object) % 8 == 0);  // AddressSanitizer poisons eight bytes at a time
  static void* Own(T* object) { return reinterpret_cast<char*>(object) + sizeof(Object); }

  std::vector<std::unique_ptr<T>> lists_[kMaxThreads];
};

}  // namespace handoff::interpreter
