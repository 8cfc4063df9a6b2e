// Which twin this process runs: the one place where the caches inside CPython are wrong on purpose. As in defect.h, safe code and
// defect stand side by side; the table of twins (python_cache.cc) says which public issue each one puts back.
#pragma once

#include <cstdint>

namespace handoff::cache::cpython {

enum class Defect : std::uint8_t {
  kNone,
  kReaderWaitsAttached,
  kInsertFailsWhenPresent,
  kLockAfterTable,
  kSlotLoadedAgain,
  kBlockBeforeLock,
  kSectionAssumedHeld,
  kValueNotKept,
  kLoopCheckedThenSet,
  kRecordsWithoutSection,
  kTupleCheckedThenSet,
  kFlagBeforeTable,
  kImportUnderLock,
  kErrorLeftPending,
  kRecordRewritten,
  kKeyNotKept,
  kCollectorClearsValues,
  kResolveUnderLock,
  kCallbackUnderTableLock,
  kReadsUnderWritersLock,
  kReaderLocksAfterMiss,
  kOutgrownBlockCleared,
};

// Once, before the first execution.
void Install(Defect defect);
// Whether this process runs that defect. Any thread. Not instrumented, so a case means the same schedule on every twin.
bool Has(Defect defect);

}  // namespace handoff::cache::cpython
