// The frames of the calling thread, by the compiler's unwinder: functions of libc and of its C++ library keep no frame pointers.
#pragma once

#include <cstdint>

namespace handoff::schedule {

struct FrameWalk {
  std::uintptr_t* frames;    // the caller's; innermost first
  int* count;                // the caller's: of frames so far, also when something jumps out of the walk
  int limit;                 // of them
  std::uintptr_t start = 0;  // what lies above this address (a signal handler's frames) is left out; 0: everything counts
};

// Any thread, and in signal handlers: but the unwinder takes locks, and may fault where unwind information is wrong.
void WalkFrames(FrameWalk& walk);

}  // namespace handoff::schedule
