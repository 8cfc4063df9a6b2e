// Where threads stand, for the report of a failed run: each reads its own stack.
#include <unwind.h>
#include <iterator>

#include "harness/schedule/state.h"

namespace handoff::schedule {
namespace {

struct Walk {
  std::uintptr_t* frames;  // the caller's
  int count;
  int limit;
};

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (walk.count == walk.limit || pc == 0) return _URC_END_OF_STACK;
  walk.frames[walk.count++] = pc;
  return _URC_NO_REASON;
}

// Null when the record has no room for another one.
Stack* NewStack(StackOf of, int thread) {
  Record& record = state.record;
  if (record.stack_count == kMaxStacks) return nullptr;
  Stack& stack = record.stacks[record.stack_count++];
  stack = Stack{};
  stack.of = of;
  stack.thread = static_cast<std::int16_t>(thread);
  const Thread& at = state.threads[thread];
  if (of == StackOf::kWaits) {
    stack.what = WaitName(at.waits_on);
    stack.object = ObjectNumber(at.object);
  }
  return &stack;
}

}  // namespace

void KeepStacks() { state.keeps_stacks = true; }

// The unwinder is the compiler's: functions of libc and of its C++ library keep no frame pointers. It has locks of its own, which
// must not be where threads switch.
int ReadFrames(std::uintptr_t* frames, int limit) {
  const int me = Self();
  const std::int64_t budget = handoff_budget;
  SetSelf(-1);
  handoff_budget = 0;
  Walk walk = {.frames = frames, .count = 0, .limit = limit};
  _Unwind_Backtrace(AddFrame, &walk);
  handoff_budget = budget;
  SetSelf(me);
  return walk.count;
}

void NotePlace(const Step& step, CodePlace& place) {
  const bool stops = step.kind == StepKind::kSwitch && step.point != PointKind::kOp && step.point != PointKind::kEnd;
  place.count = stops || step.kind == StepKind::kWait ? ReadFrames(place.frames, static_cast<int>(std::size(place.frames))) : 0;
}

void NoteStack(StackOf of, int thread) {
  if (Stack* stack = NewStack(of, thread); stack != nullptr) stack->count = ReadFrames(stack->frames, kMaxFrames);
}

void NoteTaken(int thread, const void* object) {
  const TakenAt* taken = FindTaken(object);
  Stack* stack = taken != nullptr ? NewStack(StackOf::kTook, thread) : nullptr;
  if (stack == nullptr) return;
  stack->object = ObjectNumber(object);
  stack->count = taken->count;
  for (int i = 0; i < taken->count; ++i) stack->frames[i] = taken->frames[i];
}

}  // namespace handoff::schedule
