#include "harness/schedule/frame_walk.h"

#include <unwind.h>

namespace handoff::schedule {

namespace {

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* argument) {
  FrameWalk& walk = *static_cast<FrameWalk*>(argument);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (pc == walk.start) walk.start = 0;
  if (walk.start != 0) return _URC_NO_REASON;
  if (*walk.count == walk.limit || pc == 0) return _URC_END_OF_STACK;
  walk.frames[(*walk.count)++] = pc;
  return _URC_NO_REASON;
}

}  // namespace

void WalkFrames(FrameWalk& walk) { _Unwind_Backtrace(AddFrame, &walk); }

}  // namespace handoff::schedule
