// Objects that nobody will ever free, since their interpreter is gone: kept until the execution's end, so that the process does
// not grow.
#pragma once

#include <atomic>
#include <utility>

namespace handoff::interpreter {

// T has a field `T* next`, which is used for nothing else.
template <typename T>
class LeftBehind {
 public:
  LeftBehind() = default;
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;
  // Acquire: the objects' fields.
  ~LeftBehind() {
    for (T* object = top_.load(std::memory_order_acquire); object != nullptr;) delete std::exchange(object, object->next);
  }

  // Takes the object over. Any thread.
  void Add(T* object) {
    object->next = top_.load(std::memory_order_relaxed);
    // Release: for whoever empties the stack.
    while (!top_.compare_exchange_weak(object->next, object, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<T*> top_{nullptr};  // a stack, by `next`; owned
};

}  // namespace handoff::interpreter
