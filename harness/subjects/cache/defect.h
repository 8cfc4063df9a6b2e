// Which twin this process runs: the one place where the caches are wrong on purpose. As in harness/subjects/dlpack/defect.h, the
// safe code and its defect stand side by side; the table of twins (twins.cc) says which public issue each one puts back.
#pragma once

#include <cstdint>

namespace handoff::cache {

enum class Defect : std::uint8_t {
  kNone,
  kTableWithoutLock,
  kSecondReaderWithoutLock,
  kInsertFailsWhenPresent,
  kResolveUnderLock,
  kLockAfterTable,
  kSlotLoadedAgain,
  kValueBeforeKey,
  kRelaxedValue,
  kRelaxedTable,
  kGrowOutsideLock,
  kGrowFreesOldTable,
  kGrowsFourfold,
  kReplaceCountsTwice,
  kReplaceCopiesTable,
  kReplaceInOldTable,
  kDropFreesOwnerInUse,
  kLastDropKeepsOwner,
  kFreeListWithoutLock,
  kFlagBeforeTable,
  kRelaxedFlag,
  kImportUnderLock,
  kSlotStoredUnchecked,
  kLocksInArgumentOrder,
  kLockTakenTwice,
  kRetainForTryRetain,
  kNewerEntryRemoved,
  kTableLockWaitedAttached,
  kCallbackUnderTableLock,
  kAttachesWithTableLock,
  kReadsUnderWritersLock,
  kSectionTrusted,
  kShrinksRetainedTable,
  kOutgrownBlockCleared,
  kReplacedValueFreed,
  kRecordAppendedOutside,
  kRecordFreedAtRelease,
  kGivenAfterExit,
  kRecordChangedInPlace,
  kReaderOutsideSection,
  kKeysNotKept,
  kReaderLocksAfterMiss,
  kOtherShardLocked,
};

// Once, before the first execution.
void Install(Defect defect);
// Whether this process runs that defect. Any thread. Not instrumented, so a case means the same schedule on every twin.
bool Has(Defect defect);

}  // namespace handoff::cache
