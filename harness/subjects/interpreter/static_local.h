// A static local variable of a function, which the lock order knows by its guard.
//
// What a compiler makes of one, by the Itanium C++ ABI ("One-time Construction API"); a real one could not be made anew for each
// execution. Whoever comes while another thread initialises it waits for that thread.
#pragma once

#include <cxxabi.h>

#include "harness/oracle/lock_order.h"

namespace handoff::interpreter {

// One node per variable and execution.
class StaticLocal {
 public:
  explicit StaticLocal(int number) : node_(lock_order::NewNode("static guard", number)) {}
  StaticLocal(const StaticLocal&) = delete;
  StaticLocal& operator=(const StaticLocal&) = delete;

  // What the function does before it uses the variable. `initialise` says whether it has: if not, it ended as by an exception,
  // and the next caller tries again. Returns whether the variable is ready.
  template <typename Initialise>
  bool Enter(int thread, Initialise initialise) {
    // Also if it is ready: in another schedule it would not be.
    lock_order::Waits(thread, node_);
    // Acquire: what the initialiser wrote.
    if (__atomic_load_n(reinterpret_cast<char*>(&guard_), __ATOMIC_ACQUIRE) != 0) return true;
    if (__cxxabiv1::__cxa_guard_acquire(&guard_) == 0) return true;
    lock_order::Got(thread, node_);
    const bool done = initialise();
    lock_order::Gave(thread, node_);
    done ? __cxxabiv1::__cxa_guard_release(&guard_) : __cxxabiv1::__cxa_guard_abort(&guard_);
    return done;
  }

 private:
  const int node_;
  __cxxabiv1::__guard guard_ = {};  // its first byte says whether the variable is ready
};

}  // namespace handoff::interpreter
