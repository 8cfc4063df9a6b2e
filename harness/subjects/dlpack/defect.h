// Which twin this process runs: the one place where the reference implementation is wrong on purpose.
//
// The safe code and its defect stand side by side in the source, as `if (Has(Defect::kX)) wrong; else right;`, so that a reader
// sees the difference in one or two lines. The tables of twins (exchange.cc, capsule.cc) say which public issue each one puts
// back.
#pragma once

#include <cstdint>

namespace handoff::dlpack {

enum class Defect : std::uint8_t {
  kNone,
  // Of both subjects.
  kDropIgnoresName,
  kDropWithoutDelete,
  kRenameAfterFailureWindow,
  kCheckThenRename,
  kReadAfterDeleter,
  kByteOffsetIgnored,
  kMajorIgnored,
  kRefuseWithoutDelete,
  kUncheckedImport,
  kPaddingIgnored,
  kNullDeleterCalled,
  kReadOnlyWritten,
  kCopiedFlagOnOwnMemory,
  kVersionedNullStrides,
  kEmptyKeepsData,
  kFlagWithoutReason,
  kReadOnlyFlagMissing,
  // Of the C ABI alone.
  kTakeLoadsThenClears,
  kExportWithoutRetain,
  kStridesIgnored,
  kRelaxedPublish,
  kRelaxedLastReference,
  // Of Python.
  kDeleterWithoutThreadState,
  kDeleterAttachesAfterFinalization,
  kDeleterAttachesMainInterpreter,
  kDestructorClearsException,
  kDestructorLeavesException,
  kCapsuleReferenceLeaked,
  kMaxVersionIgnored,
  kWrongErrorClass,
  kCopyIgnored,
  kCopyFalseRefused,
  kCopiedFlagMissing,
  kStreamIgnored,
  kUnknownKeywordIgnored,
  kKeywordsNotRetried,
  kMissingMethodDisguised,
  kReadOnlyFlagLost,
  kApiInWrongCapsule,
  kApiLacksFunction,
  kApiMajorIgnored,
  kApiErrorWithoutException,
  kApiViewOutlivesObject,
  kApiKeepsStolenTensor,
  kAllocatorForgetsError,
  kQueueLoadsThenClears,
  kRelaxedQueue,
  kCachedCapsuleUnlocked,
  kNativeLockAttached,
  kCapsuleMisnamed,
  kApiLookedUpOnObject,
};

// Once, before the first execution.
void Install(Defect defect);
// Whether this process runs that defect. Any thread. Not instrumented: asking is neither an access point nor an edge of the
// coverage, so a case means the same schedule on the safe twin and on the others.
bool Has(Defect defect);

}  // namespace handoff::dlpack
