#include "harness/subjects/dlpack/array.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/managed_tensor.h"

namespace handoff::dlpack {
namespace {

template <typename Managed>
void ReleaseImport(Managed* tensor, int number) {
  ledger::Released(number, ledger::Owner::kConsumer);
  CallDeleter(tensor);
  if (Has(Defect::kReadAfterDeleter)) {
    ledger::Borrowed(number);
    [[maybe_unused]] const volatile int rank = tensor->dl_tensor.ndim;
  }
}

// The last reference is gone: nobody else can see the array any more.
void Destroy(Array* array) {
  const void* token = TokenOf(*array);
  if (array->storage != nullptr) {
    ledger::StorageFreed(array->number);
    HANDOFF_SYNC_POINT(token, "free storage");
    delete[] array->storage;
  } else if (array->legacy != nullptr) {
    ReleaseImport(array->legacy, array->number);
  } else {
    ReleaseImport(array->versioned, array->number);
  }
  HANDOFF_SYNC_POINT(token, "free array");
  delete array;
}

// The bytes of one element.
struct Element {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// One access for each element, or two for the largest, as a real consumer's typed loads. `bit` is the place in the byte of a
// packed element: the first one lies in the low bits.
Element Load(const unsigned char* address, int value_bits, unsigned bit) {
  Element e;
  switch (value_bits) {
    case 4:
      e.low = (unsigned{*address} >> bit) & 0xf;
      break;
    case 8:
      e.low = *address;
      break;
    case 32:
      std::memcpy(&e.low, std::assume_aligned<4>(address), 4);
      break;
    case 64:
      std::memcpy(&e.low, std::assume_aligned<8>(address), 8);
      break;
    default:  // 128: no other type is imported
      std::memcpy(&e.low, std::assume_aligned<8>(address), 8);
      std::memcpy(&e.high, std::assume_aligned<8>(address + 8), 8);
  }
  return e;
}

std::int64_t CountElements(const DLTensor& t) {
  std::int64_t count = 1;
  for (int d = 0; d < t.ndim; ++d) count *= t.shape[d];
  return count;
}

// Into memory that was zero.
void Store(unsigned char* address, const Element& e, int item_bits, unsigned bit) {
  if (item_bits < 8) {
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it was zero.
    *address = static_cast<unsigned char>(*address | e.low << bit);
    return;
  }
  const auto bytes = static_cast<std::size_t>(item_bits / 8);
  std::memcpy(address, &e.low, std::min<std::size_t>(bytes, 8));
  if (bytes > 8) std::memcpy(address + 8, &e.high, bytes - 8);
}

// The description of a compact array with the shape and type of `from`, for us and for the ledger.
void MakeCompact(const Array& from, Array& array) {
  array.view = from.view;
  array.view.data = CountElements(from.view) == 0 ? nullptr : array.storage;
  array.view.byte_offset = 0;
  array.padded = from.padded;
  std::int64_t step = 1;
  for (int d = from.view.ndim - 1; d >= 0; --d) {
    array.shape[d] = from.shape[d];
    array.strides[d] = array.meaning.strides[d] = step;
    step *= from.shape[d];
  }
  array.view.shape = from.view.ndim == 0 ? nullptr : array.shape;
  array.view.strides = from.view.ndim == 0 ? nullptr : array.strides;
  array.meaning.storage = array.number;
  array.meaning.origin = 0;
}

// Element number `k` in row-major order.
Element ReadElement(const Array& array, std::int64_t k) {
  const DLTensor& t = array.view;
  const int item_bits = ItemBits(t.dtype, array.padded);
  // R19: data + byte_offset + the sum of index * stride * item size, strides in elements.
  std::int64_t bits = 0;
  for (int d = t.ndim - 1; d >= 0; --d) {
    bits += k % t.shape[d] * t.strides[d] * item_bits;
    k /= t.shape[d];
  }
  const auto* address = static_cast<const unsigned char*>(t.data) + t.byte_offset + (bits >> 3);
  return Load(address, t.dtype.bits * t.dtype.lanes, static_cast<unsigned>(bits & 7));
}

}  // namespace

Array* NewArray(const Layout& layout, const ElementType& type) {
  HANDOFF_SYNC_POINT(nullptr, "allocate array");
  auto* array = new Array;
  const std::size_t size = StorageBytes(type);
  array->storage = new unsigned char[size];
  array->number = ledger::AddStorage(array->storage, size);
  for (std::size_t i = 0; i < size / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = ledger::Payload(array->number, i);
    std::memcpy(array->storage + i * sizeof word, &word, sizeof word);
  }
  array->meaning = ViewOf(layout, type, array->number);
  array->null_strides = layout.null_strides;
  array->padded = type.padded;
  array->view = Describe(layout, type, array->storage, array->shape, array->strides);
  return array;
}

Array* NewCopy(const Array& from) {
  HANDOFF_SYNC_POINT(nullptr, "allocate copy");
  auto* array = new Array;
  const int item_bits = ItemBits(from.view.dtype, from.padded);
  const std::int64_t count = CountElements(from.view);
  const auto size = static_cast<std::size_t>(count * item_bits + 63) / 64 * 8;
  array->storage = new unsigned char[size]();
  array->meaning = Meaning(from);
  array->number = ledger::AddCopy(array->storage, size, array->meaning);
  for (std::int64_t k = 0; k < count; ++k) {
    const Element element = ReadElement(from, k);
    Store(array->storage + (k * item_bits >> 3), element, item_bits, static_cast<unsigned>(k * item_bits & 7));
  }
  MakeCompact(from, *array);
  return array;
}

const void* TokenOf(const Array& array) {
  return array.storage != nullptr ? ledger::StorageToken(array.number) : ledger::TensorToken(array.number);
}

ledger::View Meaning(const Array& array) { return array.storage != nullptr ? array.meaning : ledger::Meaning(array.number); }

Array* Retain(Array* array) {
  HANDOFF_SYNC_POINT(TokenOf(*array), "retain");
  // Relaxed: the caller's own reference already keeps the array alive, and what it points to was published with that one.
  array->references.fetch_add(1, std::memory_order_relaxed);
  return array;
}

void Drop(Array* array) {
  if (array == nullptr) return;
  HANDOFF_SYNC_POINT(TokenOf(*array), "drop reference");
  // Release: our uses of the array come before its end. Acquire: whoever drops the last reference sees the uses of all others
  // before it ends it. One order for both cases, rather than a fence for the last one only, since ThreadSanitizer knows no
  // fences.
  const auto order = Has(Defect::kRelaxedLastReference) ? std::memory_order_relaxed : std::memory_order_acq_rel;
  if (array->references.fetch_sub(1, order) == 1) Destroy(array);
}

void ReadBorrowed(const Array& array, const ledger::View& meaning) {
  const std::int64_t count = CountElements(array.view);
  for (std::int64_t k = 0; k < count; ++k) {
    const Element element = ReadElement(array, k);
    ledger::BorrowedRead(meaning, k, element.low, element.high);
  }
}

void ReadAll(const Array& array) {
  if (array.storage != nullptr) {
    ReadBorrowed(array, array.meaning);
    return;
  }
  const std::int64_t count = CountElements(array.view);
  ledger::Borrowed(array.number);
  for (std::int64_t k = 0; k < count; ++k) {
    const Element element = ReadElement(array, k);
    ledger::ElementRead(array.number, k, element.low, element.high);
  }
  ledger::Returned(array.number);
}

}  // namespace handoff::dlpack
