// For unit tests: an interleaving by hand. The test's own point function runs an action once, in the middle of an operation,
// where a scheduler would have switched to another thread.
#pragma once

#include <cstring>
#include <functional>

#include "harness/schedule/point.h"

namespace handoff::dlpack {

struct Interleave {
  const char* what = nullptr;  // the point's name
  int skip = 0;                // how many points of that name are passed before
  std::function<void()> action;

  // Not instrumented, so that several threads may come by.
  __attribute__((no_sanitize("thread"))) void Reached(const char* name) {
    if (what == nullptr || std::strcmp(what, name) != 0 || skip-- > 0) return;
    what = nullptr;
    action();
  }
};

inline Interleave interleave;

}  // namespace handoff::dlpack

// Linked with --wrap=handoff_sync_point: the subject's points come here instead of to the scheduler.
// NOLINTNEXTLINE(misc-definitions-in-headers, bugprone-reserved-identifier): the linker's name; each test has one source file.
extern "C" void __wrap_handoff_sync_point(const void* /*object*/, const char* what) {
  ::handoff::dlpack::interleave.Reached(what);
}
