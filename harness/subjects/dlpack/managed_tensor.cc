#include "harness/subjects/dlpack/managed_tensor.h"

#include <atomic>

#include "harness/case/case.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/meaning.h"

namespace handoff::dlpack {
namespace {

// --- Producer ---

// What an export allocates: the struct together with the shape and strides that it points to, so that one free ends them all.
template <typename Managed>
struct Block {
  Managed tensor;                            // first: the struct's address is the block's
  std::int64_t shape[ledger::kMaxRank + 1];  // as many as kHighRank needs
  std::int64_t strides[ledger::kMaxRank + 1];
};

// The same elements with one dimension more than a consumer has room for.
template <typename Managed>
void RaiseRank(Block<Managed>& block) {
  DLTensor& t = block.tensor.dl_tensor;
  for (int d = t.ndim; d <= ledger::kMaxRank; ++d) block.shape[d] = block.strides[d] = 1;
  t.ndim = ledger::kMaxRank + 1;
  t.shape = block.shape;
  t.strides = block.strides;
}

// The block goes before the owner, since dropping that may run foreign deleters.
template <typename Managed>
void DeleteExport(Managed* self) {
  Drop(static_cast<Array*>(EndExport(self)));
}

// R4: the reference keeps the payload alive until the deleter is called.
template <typename Managed>
Managed* ExportOwned(Array* array, Kind kind) {
  const bool keep = !Has(Defect::kExportWithoutRetain);
  auto* tensor = NewExport<Managed>(*array, kind, keep ? array : nullptr, DeleteExport<Managed>);
  if (!keep) Drop(array);
  return tensor;
}

// What is marked as a copy must be one (R24): the consumer may write to it. Takes over the caller's reference; the only one to a
// storage is as good as a copy. Acquire: as in Drop.
Array* WithMemoryOfItsOwn(Array* array) {
  const bool only_ours = array->storage != nullptr && array->references.load(std::memory_order_acquire) == 1;
  if (only_ours || Has(Defect::kCopiedFlagOnOwnMemory)) return array;
  Array* copy = NewCopy(*array);
  Drop(array);
  return copy;
}

void Stamp(DLManagedTensor& /*tensor*/, Kind /*kind*/, const Array& /*array*/) {}
void Stamp(DLManagedTensorVersioned& tensor, Kind kind, const Array& array) {
  DLTensor& t = tensor.dl_tensor;
  tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  tensor.flags = 0;
  if (kind == Kind::kNextMajor) ++tensor.version.major;
  if (kind == Kind::kMajorZero) tensor.version.major = 0;
  if (kind == Kind::kReadOnly || (array.read_only && !Has(Defect::kReadOnlyFlagMissing)))
    tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (kind == Kind::kCopied) tensor.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
  if (array.padded) tensor.flags |= kSubbyteTypePadded;
  if (Has(Defect::kFlagWithoutReason)) tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (kind == Kind::kDeviceNumber) t.device.device_id = 1;
  if (kind == Kind::kNegativeRank) t.ndim = -1;
  if (kind == Kind::kOtherDevice) {
    t.device.device_type = kDLExtDev;
    t.data = nullptr;  // stands for a handle that is no address
  }
}

// A tensor without a deleter is only lent. Its producer keeps what ends it for the time when nobody uses it any more.
struct Loan {
  DLManagedTensorVersioned* tensor;
  void (*deleter)(DLManagedTensorVersioned* self);
};
Loan loans[kMaxOperations];      // each place written by the thread that got it, read at the end
std::atomic<int> loan_count{0};  // relaxed: gives out places

void Lend(DLManagedTensor& /*tensor*/) {}
void Lend(DLManagedTensorVersioned& tensor) {
  loans[loan_count.fetch_add(1, std::memory_order_relaxed)] = {&tensor, tensor.deleter};
  tensor.deleter = nullptr;
}

// --- Consumer ---

bool KnowsType(const DLDataType& type) {
  if (type.lanes != 1) return false;
  switch (type.code) {
    case kDLInt:
    case kDLUInt:
      return type.bits == 4 || type.bits == 8 || type.bits == 32 || type.bits == 64;
    case kDLBool:
      return type.bits == 8;
    case kDLFloat:
      return type.bits == 16 || type.bits == 32 || type.bits == 64;
    case kDLComplex:
      return type.bits == 64 || type.bits == 128;
    default:
      return false;  // R13: of a later minor version, or a type for which we have no bits (R21)
  }
}

// What an importer for CPU arrays must have looked at before it touches shape, strides or data.
bool CanUse(const DLTensor& t) {
  if (Has(Defect::kUncheckedImport)) return true;
  return t.device.device_type == kDLCPU && t.device.device_id == 0 && t.ndim >= 0 && t.ndim <= ledger::kMaxRank &&
         KnowsType(t.dtype);
}

// NULL strides mean compact and row-major (R18).
void FillCompactStrides(Array& array) {
  std::int64_t step = 1;
  for (int d = array.view.ndim - 1; d >= 0; --d) {
    array.strides[d] = step;  // NOLINT(clang-analyzer-security.ArrayBound): CanUse has seen the rank
    step *= array.shape[d];
  }
}

// Copies the description, since shape and strides die with the struct; the payload stays where it is.
void CopyView(const DLTensor& from, Array& array) {
  array.view = from;
  if (Has(Defect::kByteOffsetIgnored)) array.view.byte_offset = 0;
  for (int d = 0; d < from.ndim; ++d) array.shape[d] = from.shape[d];
  if (from.strides == nullptr || Has(Defect::kStridesIgnored)) {
    FillCompactStrides(array);
  } else {
    for (int d = 0; d < from.ndim; ++d) array.strides[d] = from.strides[d];
  }
  array.view.shape = from.ndim == 0 ? nullptr : array.shape;
  array.view.strides = from.ndim == 0 ? nullptr : array.strides;
}

// Null if the tensor cannot be used or the consumer fails; it still owns the tensor then.
Array* NewImport(const DLTensor& from, int number, Step fails) {
  ledger::Borrowed(number);
  const bool usable = CanUse(from);
  if (!usable || fails == Step::kRenamed) {
    ledger::Returned(number);
    return nullptr;
  }
  Array* array = Allocate();
  array->number = number;
  if (fails != Step::kAllocated) CopyView(from, *array);
  if (fails == Step::kNever) {
    ledger::Accepted(number);
    ledger::ShapeSeen(number, array->view.ndim, array->shape);
  }
  ledger::Returned(number);
  if (fails == Step::kNever) return array;
  Free(array);
  return nullptr;
}

template <typename Managed>
void RefuseAny(Managed* tensor, int number) {
  if (Has(Defect::kRefuseWithoutDelete)) return;
  ledger::Released(number, ledger::Owner::kConsumer);
  CallDeleter(tensor);
}

template <typename Managed>
void CallAny(Managed* tensor) {
  const int number = ledger::NumberOf(tensor);
  HANDOFF_SYNC_POINT(ledger::TensorToken(number), "call deleter");
  if (tensor->deleter == nullptr && !Has(Defect::kNullDeleterCalled)) return;
  ledger::CheckDeleter(number, tensor->deleter != nullptr);
  tensor->deleter(tensor);  // NOLINT(clang-analyzer-core.CallAndMessage): the twin means it
}

}  // namespace

bool CanDescribe(const Array& array, Kind kind) { return kind != Kind::kLegacy || (!array.read_only && !array.padded); }

template <typename Managed>
Managed* NewExport(const Array& array, Kind kind, void* owner, void (*deleter)(Managed* self)) {
  auto* block = new Block<Managed>;
  DLTensor& t = block->tensor.dl_tensor;
  t = array.view;
  for (int d = 0; d < t.ndim; ++d) {
    block->shape[d] = array.shape[d];
    block->strides[d] = array.strides[d];
  }
  if (t.ndim != 0) {
    t.shape = block->shape;
    const bool may_be_null = kind == Kind::kLegacy || Has(Defect::kVersionedNullStrides);
    t.strides = may_be_null && array.null_strides ? nullptr : block->strides;
  }
  if (t.data == nullptr && Has(Defect::kEmptyKeepsData)) t.data = block;
  block->tensor.manager_ctx = owner;
  block->tensor.deleter = deleter;
  Stamp(block->tensor, kind, array);
  if (kind == Kind::kHighRank) RaiseRank(*block);
  if (kind == Kind::kNoDeleter) Lend(block->tensor);
  TellExport(block->tensor, array, kind);
  return &block->tensor;
}

template <typename Managed>
void* EndExport(Managed* self) {
  ledger::DeleterCalled(self);
  void* owner = self->manager_ctx;
  delete reinterpret_cast<Block<Managed>*>(self);
  return owner;
}

template DLManagedTensor* NewExport(const Array&, Kind, void*, void (*)(DLManagedTensor*));
template DLManagedTensorVersioned* NewExport(const Array&, Kind, void*, void (*)(DLManagedTensorVersioned*));
template void* EndExport(DLManagedTensor*);
template void* EndExport(DLManagedTensorVersioned*);

DLManagedTensor* ExportLegacy(Array* array) { return ExportOwned<DLManagedTensor>(array, Kind::kLegacy); }

DLManagedTensorVersioned* ExportVersioned(Array* array, Kind kind) {
  if (kind == Kind::kCopied) array = WithMemoryOfItsOwn(array);
  return ExportOwned<DLManagedTensorVersioned>(array, kind);
}

void EndLoans() {
  for (int i = loan_count.load(std::memory_order_relaxed); i > 0 && !ledger::Held(loans[i - 1].tensor); --i) {
    loan_count.store(i - 1, std::memory_order_relaxed);
    loans[i - 1].deleter(loans[i - 1].tensor);
  }
}

Array* Import(DLManagedTensor* tensor, int number, Step fails) {
  Array* array = NewImport(tensor->dl_tensor, number, fails);
  if (array == nullptr) {
    Refuse(tensor, number);
    return nullptr;
  }
  array->legacy = tensor;
  return array;
}

Array* Import(DLManagedTensorVersioned* tensor, int number, Step fails) {
  // R12: of a foreign major version only the place of `version` and `deleter` is known.
  const bool known = tensor->version.major == DLPACK_MAJOR_VERSION || Has(Defect::kMajorIgnored);
  Array* array = known ? NewImport(tensor->dl_tensor, number, fails) : nullptr;
  if (array == nullptr) {
    Refuse(tensor, number);
    return nullptr;
  }
  array->versioned = tensor;
  array->read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  array->copied = (tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  array->padded = (tensor->flags & kSubbyteTypePadded) != 0 && !Has(Defect::kPaddingIgnored);
  return array;
}

void Refuse(DLManagedTensor* tensor, int number) { RefuseAny(tensor, number); }
void Refuse(DLManagedTensorVersioned* tensor, int number) { RefuseAny(tensor, number); }

void CallDeleter(DLManagedTensor* tensor) { CallAny(tensor); }
void CallDeleter(DLManagedTensorVersioned* tensor) { CallAny(tensor); }

}  // namespace handoff::dlpack
