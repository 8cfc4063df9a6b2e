// Which twin this process runs: the one place where the designs are wrong on purpose. As in harness/subjects/dlpack/defect.h, the
// safe code and its defect stand side by side; the tables of twins (slot_operations.cc, for one) say which public issue each one
// puts back.
#pragma once

#include <cstdint>

namespace handoff::interpreter {

enum class Defect : std::uint8_t {
  kNone,
  // Of the count-driven slot.
  kFlagBeforeIncref,
  kNoUndo,
  kLockCountsFirst,
  kIncrefForTryIncref,
  kTryIncrefUnpinned,
  kSlotNotCleared,
  kSlotNotLoadedAgain,
  kLoserDropsFirst,
  kSlotCheckedThenStored,
  kFlagInWordOfItsOwn,
  kCopyWithoutIncref,
  // Of the same in CPython.
  kAttachAfterEnd,
  kPayloadNotTraversed,
  kTryIncrefNotEnabled,
  // Of the tag.
  kTagCheckedThenStored,
  kTagOverwritten,
  kSlotReadBeforeAllocation,
  kTagIgnored,
  kNoResurrection,
  kFlipAfterDrop,
  kSlotKeepsDeadWrapper,
  kHermeticWrapperStored,
  kReleaseUnattached,
  kReleaseInWrongInterpreter,
  kWithoutGil,
  kDisarmWithoutWaiting,
  kRelaxedDisarm,
  kPointersReadOneByOne,
  kPlainPointers,
  // Of the tied word.
  kTiedWithoutLock,
  kTiedIncref,
  kRevivedWithoutStrong,
  // Of the ways to release.
  kEnsureUnchecked,
  kCheckThenEnsure,
  kCheckTwice,
  kFlagWithoutBlock,
  kGateUnderGil,
  kGenerationIgnored,
  kQueueNotClosed,
  kDrainUnderLock,
  kDrainByAnybody,
  kPendingDropped,
  kReleaseUnderLock,
  kJoinAttached,
  kOnceAttached,
  kStaticAttached,
  kReleasedTwice,
  kReleaseDetached,
  kLeaksWhileAlive,
  kAbortOffThread,
};

// Once, before the first execution.
void Install(Defect defect);
// Whether this process runs that defect. Any thread. Not instrumented, so a case means the same schedule on every twin.
bool Has(Defect defect);

}  // namespace handoff::interpreter
