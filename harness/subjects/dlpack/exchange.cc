#include "harness/subjects/dlpack/exchange.h"

#include <array>
#include <utility>

#include "harness/oracle/ledger.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/twins.h"

namespace handoff::dlpack {
namespace {

enum Code : std::uint8_t { kExport, kConsume, kRefuse, kReexport, kRead, kDrop, kRelease, kGive, kShare, kTake, kWrite };

constexpr Argument kHandle{"handle", kHandles};
constexpr Argument kBox{"box", kBoxes};
constexpr Argument kStep{"step", kStepNames.size(), kStepNames};
constexpr Argument kKind{"kind", kNativeKinds.size(), kNativeKindNames};

const std::array<OperationKind, 11> kOperations = {{
    {"export",
     {kHandle, kKind, {"layout", kLayoutNames.size(), kLayoutNames}, {"type", kElementTypeNames.size(), kElementTypeNames}},
     4,
     4},
    {"consume", {kHandle}, 1, 4},
    {"refuse", {kHandle, kStep}, 2, 2},
    {"reexport", {kHandle, kKind}, 2, 2},
    {"read", {}, 0, 3},
    {"drop", {kHandle}, 1, 2},
    {"release", {}, 0, 2},
    {"give", {kBox}, 1, 2},
    {"share", {kBox}, 1, 2},
    {"take", {kBox}, 1, 3},
    {"write", {}, 0, 2},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 22> kTwinTable = {{
    {{"drop_ignores_name", "cupy/cupy#1445: the destructor calls the deleter of a consumed capsule too", "double-delete"},
     Defect::kDropIgnoresName},
    {{"drop_without_delete", "pytorch/pytorch#9297: an unconsumed capsule never calls the deleter", "missing-delete"},
     Defect::kDropWithoutDelete},
    {{"rename_after_failure_window", "pytorch/pytorch#56789: a consumer that fails before it renames leaves two owners behind",
      "double-delete"},
     Defect::kRenameAfterFailureWindow},
    {{"check_then_rename", "python/cpython#145563: the name is checked and changed in two plain steps", "thread"},
     Defect::kCheckThenRename},
    {{"read_after_deleter", "smallest breach of R2, after dmlc/dlpack#39: a consumer reads the struct when its deleter has run",
      "use-after-delete"},
     Defect::kReadAfterDeleter},
    {{"export_without_retain", "dmlc/dgl#312: the exported struct does not keep its array alive", "delete-while-held"},
     Defect::kExportWithoutRetain},
    {{"take_loads_then_clears", "smallest breach of sole ownership: a load and a store where one exchange is right", "address"},
     Defect::kTakeLoadsThenClears},
    {{"byte_offset_ignored", "pytorch/pytorch#168177: byte_offset is ignored on import", "wrong-value"},
     Defect::kByteOffsetIgnored},
    {{"strides_ignored", "jax-ml/jax#4196: strides are ignored on import", "wrong-value"}, Defect::kStridesIgnored},
    {{"major_ignored", "smallest breach of R12: a consumer reads a struct of a foreign major version", "protocol"},
     Defect::kMajorIgnored},
    {{"refuse_without_delete", "smallest breach of R3: a consumer that refuses a tensor forgets to call its deleter",
      "missing-delete"},
     Defect::kRefuseWithoutDelete},
    {{"unchecked_import", "smallest breach of R13, R16, R21 and R23: a consumer looks at neither device, rank nor type",
      "protocol"},
     Defect::kUncheckedImport},
    {{"padding_ignored", "smallest breach of R21: the flag for padded elements below one byte is ignored", "wrong-value"},
     Defect::kPaddingIgnored},
    {{"null_deleter_called", "smallest breach of R1: the deleter is called although it is NULL", "protocol"},
     Defect::kNullDeleterCalled},
    {{"relaxed_publish", "smallest breach of publication: the name is stored without release", "thread"},
     Defect::kRelaxedPublish},
    {{"relaxed_last_reference",
      "smallest breach of reference counting, after python/cpython#118111: the last drop acquires nothing", "thread"},
     Defect::kRelaxedLastReference},
    {{"read_only_written", "jax-ml/jax#19123: a consumer writes to an array that was exported as read-only", "protocol"},
     Defect::kReadOnlyWritten},
    {{"copied_flag_on_own_memory", "smallest breach of R24: the flag IS_COPIED on memory that the producer keeps", "protocol"},
     Defect::kCopiedFlagOnOwnMemory},
    {{"versioned_null_strides", "smallest breach of R18: a versioned struct is exported with NULL strides", "protocol"},
     Defect::kVersionedNullStrides},
    {{"empty_keeps_data", "smallest breach of R17, as numpy 2.4 does it: a tensor without elements has data", "protocol"},
     Defect::kEmptyKeepsData},
    {{"flag_without_reason", "smallest breach of R29: whatever is exported is marked as read-only", "protocol"},
     Defect::kFlagWithoutReason},
    {{"read_only_flag_missing", "smallest breach of R30: what was imported read-only is exported again without the flag",
      "protocol"},
     Defect::kReadOnlyFlagMissing},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// Acquire: the array was built, and used, before it was put into the box. Release: our uses come before those of the next taker.
Array* Swap(std::atomic<Array*>& box, Array* array) {
  HANDOFF_SYNC_POINT(&box, "swap box");
  return box.exchange(array, std::memory_order_acq_rel);
}

// Empties a box; the reference is the caller's now.
Array* TakeOut(std::atomic<Array*>& box) {
  if (!Has(Defect::kTakeLoadsThenClears)) return Swap(box, nullptr);
  HANDOFF_SYNC_POINT(&box, "load box");
  Array* array = box.load(std::memory_order_acquire);
  HANDOFF_SYNC_POINT(&box, "clear box");
  box.store(nullptr, std::memory_order_release);
  return array;
}

// Exports `array`, of which it takes over a reference, and puts the struct into the handle; if that is occupied, deletes the
// struct again, as its owner.
void ExportInto(Handle& handle, Array* array, Kind kind) {
  if (!CanDescribe(*array, kind)) return Drop(array);
  const bool legacy = kind == Kind::kLegacy;
  const char* name = legacy ? kLegacyName : kVersionedName;
  void* tensor = legacy ? static_cast<void*>(ExportLegacy(array)) : ExportVersioned(array, kind);
  if (!Publish(handle, name, tensor)) DeleteUntaken(name, tensor);
}

}  // namespace

const Alphabet& Exchange::Operations() { return kAlphabet; }
std::span<const Twin> Exchange::Twins() { return kTwins; }

std::unique_ptr<Subject> Exchange::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<Exchange>();
}

void Exchange::Begin(const Case& c) {
  threads_ = static_cast<int>(c.threads.size());
  ledger::Reset(c.strategy == Strategy::kFree);
}

void Exchange::Reexport(int thread, Handle& handle, Kind kind) {
  if (held_[thread] != nullptr) ExportInto(handle, Retain(held_[thread]), kind);
}

void Exchange::Consume(int thread, Handle& handle, Step fails) {
  if (Array* array = ImportTaken(dlpack::Take(handle, fails), fails); array != nullptr) Hold(thread, array);
}

// Replaces what the thread holds; takes over the caller's reference.
void Exchange::Hold(int thread, Array* array) { Drop(std::exchange(held_[thread], array)); }

void Exchange::Apply(int thread, Operation operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kExport:
      ExportInto(handles_[a[0]], NewArray(kLayouts[a[2]], kElementTypes[a[3]]), kNativeKinds[a[1]]);
      break;
    case kConsume:
      Consume(thread, handles_[a[0]], Step::kNever);
      break;
    case kRefuse:
      Consume(thread, handles_[a[0]], Step{a[1]});
      break;
    case kReexport:
      Reexport(thread, handles_[a[0]], kNativeKinds[a[1]]);
      break;
    case kRead:
      if (held_[thread] != nullptr) ReadAll(*held_[thread]);
      break;
    case kDrop:
      DropHandle(handles_[a[0]]);
      break;
    case kRelease:
      Hold(thread, nullptr);
      break;
    case kGive:
      if (held_[thread] != nullptr) Drop(Swap(boxes_[a[0]], std::exchange(held_[thread], nullptr)));
      break;
    case kShare:
      if (held_[thread] != nullptr) Drop(Swap(boxes_[a[0]], Retain(held_[thread])));
      break;
    case kTake:
      Hold(thread, TakeOut(boxes_[a[0]]));
      break;
    case kWrite:
      if (held_[thread] != nullptr) WriteAll(*held_[thread]);
      break;
    default:
      break;
  }
}

void Exchange::End() {
  for (Handle& handle : handles_) DropHandle(handle);
  for (std::atomic<Array*>& box : boxes_) {
    // Relaxed: all threads have ended.
    if (box.load(std::memory_order_relaxed) != nullptr) Drop(Swap(box, nullptr));
  }
  for (int thread = 0; thread < threads_; ++thread) Hold(thread, nullptr);
  EndLoans();
  ledger::Judge();
}

}  // namespace handoff::dlpack
