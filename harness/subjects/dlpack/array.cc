#include "harness/subjects/dlpack/array.h"

#include <cstring>
#include <memory>

#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"

namespace handoff::dlpack {
namespace {

// What an export allocates: the struct together with the shape and strides that it points to, so that one free ends them all.
template <typename Managed>
struct Block {
  Managed tensor;  // first: the struct's address is the block's
  std::int64_t shape[ledger::kMaxRank];
  std::int64_t strides[ledger::kMaxRank];
};

// The block goes before the owner, since dropping that may run foreign deleters.
template <typename Managed>
void DeleteExport(Managed* self) {
  Drop(static_cast<Array*>(EndExport(self)));
}

// R4: the reference keeps the payload alive until the deleter is called, whatever the producer does with its own.
Array* KeptAlive(Array* array) { return Has(Defect::kExportWithoutRetain) ? nullptr : Retain(array); }

void Stamp(DLManagedTensor& /*tensor*/, Kind /*kind*/, bool /*read_only*/) {}
void Stamp(DLManagedTensorVersioned& tensor, Kind kind, bool read_only) {
  tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  if (kind == Kind::kNextMajor) ++tensor.version.major;
  if (kind == Kind::kReadOnly || read_only) tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (kind == Kind::kCopied) tensor.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
}

// NULL strides mean compact and row-major (R18).
void FillCompactStrides(Array& array) {
  std::int64_t step = 1;
  for (int d = array.view.ndim - 1; d >= 0; --d) {
    array.strides[d] = step;
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

template <typename Managed>
Array* NewImport(Managed* tensor, int number) {
  HANDOFF_SYNC_POINT(nullptr, "allocate array");
  auto* array = new Array;
  array->number = number;
  ledger::Borrowed(number);
  CopyView(tensor->dl_tensor, *array);
  ledger::ShapeSeen(number, array->view.ndim, array->shape);
  ledger::Returned(number);
  return array;
}

template <typename Managed>
void ReleaseImport(Managed* tensor, int number) {
  ledger::Released(number, ledger::Owner::kConsumer);
  CallDeleter(tensor);
  if (Has(Defect::kReadAfterDeleter)) {
    ledger::Borrowed(number);
    [[maybe_unused]] const volatile int rank = tensor->dl_tensor.ndim;
  }
}

template <typename Managed>
void CallAny(Managed* tensor) {
  HANDOFF_SYNC_POINT(tensor, "call deleter");
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

// The bytes of one element.
struct Element {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// One access for each element, or two for the largest, as a real consumer's typed loads.
Element Load(const unsigned char* address, std::int64_t item) {
  Element e;
  switch (item) {
    case 1:
      std::memcpy(&e.low, address, 1);
      break;
    case 4:
      std::memcpy(&e.low, std::assume_aligned<4>(address), 4);
      break;
    case 8:
      std::memcpy(&e.low, std::assume_aligned<8>(address), 8);
      break;
    default:
      std::memcpy(&e.low, std::assume_aligned<8>(address), 8);
      std::memcpy(&e.high, std::assume_aligned<8>(address + 8), 8);
  }
  return e;
}

// The last reference is gone: nobody else can see the array any more.
void Destroy(Array* array) {
  if (array->storage != nullptr) {
    ledger::StorageFreed(array->number);
    HANDOFF_SYNC_POINT(array->storage, "free storage");
    delete[] array->storage;
  } else if (array->legacy != nullptr) {
    ReleaseImport(array->legacy, array->number);
  } else {
    ReleaseImport(array->versioned, array->number);
  }
  HANDOFF_SYNC_POINT(array, "free array");
  delete array;
}

}  // namespace

Array* NewArray(const Layout& layout, const DLDataType& type) {
  HANDOFF_SYNC_POINT(nullptr, "allocate array");
  auto* array = new Array;
  const std::size_t size = kStorageElements * ItemSize(type);
  array->storage = new unsigned char[size];
  array->number = ledger::AddStorage(array->storage, size);
  for (std::size_t i = 0; i < size / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = ledger::Payload(array->number, i);
    std::memcpy(array->storage + i * sizeof word, &word, sizeof word);
  }
  array->layout = &layout;
  array->null_strides = layout.null_strides;
  array->view = Describe(layout, type, array->storage, /*legacy=*/false, array->shape, array->strides);
  return array;
}

Array* Retain(Array* array) {
  HANDOFF_SYNC_POINT(array, "retain");
  // Relaxed: the caller's own reference already keeps the array alive, and what it points to was published with that one.
  array->references.fetch_add(1, std::memory_order_relaxed);
  return array;
}

void Drop(Array* array) {
  if (array == nullptr) return;
  HANDOFF_SYNC_POINT(array, "drop reference");
  // Release: our uses of the array come before its end. Acquire: whoever drops the last reference sees the uses of all others
  // before it ends it. One order for both cases, rather than a fence for the last one only, since ThreadSanitizer knows no
  // fences.
  const auto order = Has(Defect::kRelaxedLastReference) ? std::memory_order_relaxed : std::memory_order_acq_rel;
  if (array->references.fetch_sub(1, order) == 1) Destroy(array);
}

template <typename Managed>
Managed* NewExport(const Array& array, Kind kind, void* owner, void (*deleter)(Managed* self)) {
  HANDOFF_SYNC_POINT(nullptr, "allocate managed tensor");
  auto* block = new Block<Managed>{};
  DLTensor& t = block->tensor.dl_tensor;
  t = array.view;
  for (int d = 0; d < t.ndim; ++d) {
    block->shape[d] = array.shape[d];
    block->strides[d] = array.strides[d];
  }
  if (t.ndim != 0) {
    t.shape = block->shape;
    t.strides = kind == Kind::kLegacy && array.null_strides ? nullptr : block->strides;
  }
  block->tensor.manager_ctx = owner;
  block->tensor.deleter = deleter;
  Stamp(block->tensor, kind, array.read_only);
  const bool foreign = kind == Kind::kNextMajor;
  if (array.storage != nullptr) {
    ledger::View view = ViewOf(*array.layout, t.dtype, array.number);
    view.foreign = foreign;
    ledger::Exported(&block->tensor, view);
  } else {
    ledger::Reexported(&block->tensor, array.number, foreign);
  }
  return &block->tensor;
}

template <typename Managed>
void* EndExport(Managed* self) {
  ledger::DeleterCalled(self);
  void* owner = self->manager_ctx;
  HANDOFF_SYNC_POINT(self, "free managed tensor");
  delete reinterpret_cast<Block<Managed>*>(self);
  return owner;
}

template DLManagedTensor* NewExport(const Array&, Kind, void*, void (*)(DLManagedTensor*));
template DLManagedTensorVersioned* NewExport(const Array&, Kind, void*, void (*)(DLManagedTensorVersioned*));
template void* EndExport(DLManagedTensor*);
template void* EndExport(DLManagedTensorVersioned*);

DLManagedTensor* ExportLegacy(Array* array) {
  return NewExport<DLManagedTensor>(*array, Kind::kLegacy, KeptAlive(array), DeleteExport<DLManagedTensor>);
}

DLManagedTensorVersioned* ExportVersioned(Array* array, Kind kind) {
  return NewExport<DLManagedTensorVersioned>(*array, kind, KeptAlive(array), DeleteExport<DLManagedTensorVersioned>);
}

Array* Import(DLManagedTensor* tensor, int number) {
  Array* array = NewImport(tensor, number);
  array->legacy = tensor;
  return array;
}

Array* Import(DLManagedTensorVersioned* tensor, int number) {
  // R12: of a foreign major version only the place of `version` and `deleter` is known.
  if (tensor->version.major != DLPACK_MAJOR_VERSION && !Has(Defect::kMajorIgnored)) {
    ledger::Released(number, ledger::Owner::kConsumer);
    CallDeleter(tensor);
    return nullptr;
  }
  Array* array = NewImport(tensor, number);
  array->versioned = tensor;
  array->read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return array;
}

void CallDeleter(DLManagedTensor* tensor) { CallAny(tensor); }
void CallDeleter(DLManagedTensorVersioned* tensor) { CallAny(tensor); }

void ReadAll(const Array& array) {
  const DLTensor& t = array.view;
  const auto item = static_cast<std::int64_t>(ItemSize(t.dtype));
  std::int64_t count = 1;
  for (int d = 0; d < t.ndim; ++d) count *= t.shape[d];
  ledger::Borrowed(array.number);
  for (std::int64_t k = 0; k < count; ++k) {
    // R19: data + byte_offset + the sum of index * stride * item size, strides in elements.
    const auto* address = static_cast<const unsigned char*>(t.data) + t.byte_offset;
    std::int64_t rest = k;
    for (int d = t.ndim - 1; d >= 0; --d) {
      address += rest % t.shape[d] * t.strides[d] * item;
      rest /= t.shape[d];
    }
    const Element element = Load(address, item);
    ledger::ElementRead(array.number, k, element.low, element.high);
  }
  ledger::Returned(array.number);
}

}  // namespace handoff::dlpack
