// Where threads stand, for the report of a failed run: each reads its own stack.
#include <iterator>

#include "harness/schedule/frame_walk.h"
#include "harness/schedule/state.h"

namespace handoff::schedule {
namespace {

void* out_of_unwinder[5];
__thread bool unwinds = false;

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

// The unwinder has locks of its own, which must not be where threads switch. Unwind information that is wrong (assembly by hand,
// code made at run time) leads it to where there is no stack: what it found before is kept.
int ReadFrames(std::uintptr_t* frames, int limit) {
  const int me = Self();
  const std::int64_t budget = handoff_budget;
  SetSelf(-1);
  handoff_budget = 0;
  static int count;  // static: read after a jump. Whoever reads holds the baton
  count = 0;
  FrameWalk walk = {.frames = frames, .count = &count, .limit = limit};
  if (__builtin_setjmp(out_of_unwinder) == 0) {
    unwinds = true;
    WalkFrames(walk);
  }
  unwinds = false;
  handoff_budget = budget;
  SetSelf(me);
  return count;
}

void KeepOwnStack() {
  if (Self() >= 0 && state.record.stack_count == 0) NoteStack(StackOf::kStands, Self());
}

void LeaveUnwinder() {
  if (unwinds) __builtin_longjmp(out_of_unwinder, 1);
}

void NotePlace(const Step& step, CodePlace& place) {
  // One that goes round in a loop has been seen often enough: 20,000 rounds would take a fifth of a second.
  constexpr std::uint32_t kEnough = 200;
  const bool stops = step.kind == StepKind::kSwitch && step.point != PointKind::kOp && step.point != PointKind::kEnd;
  const bool wakes = step.kind == StepKind::kPoint && IsWake(step.what);
  const bool wanted = (stops || wakes || step.kind == StepKind::kWait) && state.threads[step.thread].points < kEnough;
  place.count = wanted ? ReadFrames(place.frames, static_cast<int>(std::size(place.frames))) : 0;
}

void NoteStack(StackOf of, int thread) {
  if (Stack* stack = NewStack(of, thread); stack != nullptr) stack->count = ReadFrames(stack->frames, kMaxFrames);
}

void NoteTaken(int thread, const void* object) {
  const TakenAt* taken = FindTaken(object);
  // Of two readers the other one may have been the last to come.
  Stack* stack = taken != nullptr && taken->thread == thread ? NewStack(StackOf::kTook, thread) : nullptr;
  if (stack == nullptr) return;
  stack->object = ObjectNumber(object);
  stack->count = taken->count;
  for (int i = 0; i < taken->count; ++i) stack->frames[i] = taken->frames[i];
}

}  // namespace handoff::schedule
