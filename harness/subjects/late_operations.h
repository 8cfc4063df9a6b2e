// What the threads of a case do once they have asked for the interpreter's end: kept for the child that ends it, where the one
// thread that there is does it afterwards, one operation after another (harness/python/finalization.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "harness/case/case.h"

namespace handoff {

// `kKinds` of ends, each numbered from 0. Functions but Hear, Heard and Keep: the driver thread, while nobody else runs.
template <int kKinds>
class LateOperations {
 public:
  // Before an execution. `always`: whether this process runs one case only.
  void Begin(const Case& c, bool always) {
    // An end costs as much as hundreds of executions, so one case in this many is heard.
    constexpr std::uint64_t kEvery = 256;
    always_ = always || Seed(c) % kEvery == 0;
    count_.store(0, std::memory_order_relaxed);
    which_.store(-1, std::memory_order_relaxed);
  }

  // A request for an end. Heard are the first of each kind in a process, and all of one case in many. Not every so many requests:
  // what is heard changes what the operations behind it do, and a case that is run again must take the same decisions.
  void Hear(int which) {
    const bool first = !heard_[static_cast<std::size_t>(which)].exchange(true, std::memory_order_relaxed);
    if (first || always_) which_.store(which, std::memory_order_relaxed);
  }
  // The end that was asked for in this execution; -1: none.
  int Heard() const { return which_.load(std::memory_order_relaxed); }

  // By a thread of the case, once an end was heard: the child does it.
  void Keep(int thread, const Operation& operation) {
    late_[static_cast<std::size_t>(count_.fetch_add(1, std::memory_order_relaxed))] = {thread, operation};
  }
  // In the child: does all that was kept, in order, by `apply(thread, operation)`.
  template <typename Apply>
  void Run(Apply apply) const {
    const auto count = static_cast<std::size_t>(count_.load(std::memory_order_relaxed));
    for (std::size_t i = 0; i < count; ++i) apply(late_[i].thread, late_[i].operation);
  }

 private:
  struct Late {
    int thread = 0;
    Operation operation{};
  };

  std::array<Late, kMaxOperations> late_;
  std::atomic<int> count_{0};                         // of them; relaxed, as all here: read when all operations have ended
  std::atomic<int> which_{-1};                        // once it was heard
  std::array<std::atomic<bool>, kKinds> heard_ = {};  // in this process; set once
  bool always_ = false;                               // this case's requests are heard
};

}  // namespace handoff
