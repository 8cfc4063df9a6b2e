#include "harness/subjects/dlpack/array.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/managed_tensor.h"
#include "harness/subjects/dlpack/meaning.h"

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
  if (array->storage != nullptr) {
    ledger::StorageFreed(array->number);
  } else if (array->legacy != nullptr) {
    ReleaseImport(array->legacy, array->number);
  } else {
    ReleaseImport(array->versioned, array->number);
  }
  Free(array);
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
    case 16:
      std::memcpy(&e.low, std::assume_aligned<2>(address), 2);
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

// The elements of an array in row-major order. Reads its description once, as a real loop does, and the payload element by
// element.
struct Elements {
  explicit Elements(const Array& array)
      : rank(array.view.ndim),
        item_bits(ItemBits(array.view.dtype, array.padded)),
        value_bits(array.view.dtype.bits * array.view.dtype.lanes),
        data(static_cast<unsigned char*>(array.view.data) + array.view.byte_offset) {
    for (int d = 0; d < rank; ++d) {
      shape[d] = array.view.shape[d];
      strides[d] = array.view.strides[d];
    }
  }

  std::int64_t Count() const {
    std::int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= shape[d];
    return count;
  }

  struct Place {
    unsigned char* address;  // not owned
    unsigned bit;            // in the byte, of a packed element
  };
  Place At(std::int64_t k) const {
    // R19: data + byte_offset + the sum of index * stride * item size, strides in elements.
    std::int64_t bits = 0;
    for (int d = rank - 1; d >= 0; --d) {
      // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): a rank is at most kMaxRank
      bits += k % shape[d] * strides[d] * item_bits;
      k /= shape[d];
    }
    return {data + (bits >> 3), static_cast<unsigned>(bits & 7)};
  }

  Element Read(std::int64_t k) const {
    const Place place = At(k);
    return Load(place.address, value_bits, place.bit);
  }

  int rank;
  int item_bits;
  int value_bits;
  unsigned char* data;  // not owned
  std::int64_t shape[ledger::kMaxRank] = {};
  std::int64_t strides[ledger::kMaxRank] = {};
};

template <typename Word>
void InvertWord(unsigned char* address) {
  Word word;
  std::memcpy(&word, std::assume_aligned<sizeof word>(address), sizeof word);
  word = static_cast<Word>(~word);
  std::memcpy(std::assume_aligned<sizeof word>(address), &word, sizeof word);
}

// As Load reads it.
void Invert(const Elements::Place& place, int value_bits) {
  if (value_bits == 4) {
    *place.address = static_cast<unsigned char>(*place.address ^ 0xfU << place.bit);
  } else if (value_bits == 8) {
    *place.address = static_cast<unsigned char>(~*place.address);
  } else if (value_bits == 16) {
    InvertWord<std::uint16_t>(place.address);
  } else if (value_bits == 32) {
    InvertWord<std::uint32_t>(place.address);
  } else {
    for (int bits = 0; bits < value_bits; bits += 64) InvertWord<std::uint64_t>(place.address + bits / 8);
  }
}

// Whether nobody else can see the elements. Acquire: those who dropped their references have used them before we do.
bool MayWrite(const Array& array) {
  if (array.read_only) return Has(Defect::kReadOnlyWritten);
  return array.references.load(std::memory_order_acquire) == 1 && (array.storage != nullptr || array.copied);
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

// One block for an array and the storage of its own, which begins, aligned, where the array ends.
void* AllocateBlock(std::size_t storage_bytes) { return ::operator new(sizeof(Array) + storage_bytes); }
unsigned char* StorageIn(void* block) { return static_cast<unsigned char*>(block) + sizeof(Array); }

// The array of a block with a storage.
Array* NewIn(void* block, const Description& description, int number) {
  auto* array = new (block) Array(description, StorageIn(block), number);
  array->view.shape = array->view.ndim == 0 ? nullptr : array->shape;
  array->view.strides = array->view.ndim == 0 ? nullptr : array->strides;
  return array;
}

// What a compact array with the shape and type of `from` shows.
Description Compact(const Description& from, unsigned char* data) {
  Description compact = from;
  compact.view.data = data;
  compact.view.byte_offset = 0;
  compact.null_strides = false;
  std::int64_t step = 1;
  for (int d = from.view.ndim - 1; d >= 0; --d) {
    compact.strides[d] = step;
    step *= from.shape[d];
  }
  return compact;
}

}  // namespace

Array* Allocate() { return new (AllocateBlock(0)) Array; }

void Free(Array* array) {
  array->~Array();
  ::operator delete(array);
}

Array* NewArray(const Layout& layout, const ElementType& type) {
  const std::size_t size = StorageBytes(type);
  void* block = AllocateBlock(size);
  unsigned char* storage = StorageIn(block);
  const int number = TellStorage(storage, size, layout, type);
  for (std::size_t i = 0; i < size / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = ledger::Payload(number, i);
    std::memcpy(storage + i * sizeof word, &word, sizeof word);
  }
  return NewIn(block, Describe(layout, type, storage), number);
}

Array* NewCopy(const Array& from) {
  const Elements elements(from);
  const auto size = static_cast<std::size_t>(elements.Count() * elements.item_bits + 63) / 64 * 8;
  void* block = AllocateBlock(size);
  unsigned char* storage = StorageIn(block);
  std::memset(storage, 0, size);
  const int number = TellCopy(storage, size, from);
  for (std::int64_t k = 0; k < elements.Count(); ++k) {
    const std::int64_t bit = k * elements.item_bits;
    Store(storage + (bit >> 3), elements.Read(k), elements.item_bits, static_cast<unsigned>(bit & 7));
  }
  return NewIn(block, Compact(from, elements.Count() == 0 ? nullptr : storage), number);
}

const void* TokenOf(const Array& array) {
  return array.storage != nullptr ? ledger::StorageToken(array.number) : ledger::TensorToken(array.number);
}

Array* Retain(Array* array) {
  HANDOFF_SYNC_POINT(TokenOf(*array), "retain");
  // Relaxed: the caller's own reference already keeps the array alive, and what it points to was published with that one.
  array->references.fetch_add(1, std::memory_order_relaxed);
  return array;
}

void Drop(Array* array) {
  if (array == nullptr) return;
  HANDOFF_SYNC_POINT(TokenOf(*array), "drop reference");
  const bool relaxed = Has(Defect::kRelaxedLastReference);
  // The only reference is ours, so nobody can make another: no need to count down, as in libstdc++'s shared_ptr. Acquire: it
  // shows us the uses of those who dropped theirs.
  const auto acquire = relaxed ? std::memory_order_relaxed : std::memory_order_acquire;
  if (array->references.load(acquire) == 1) return Destroy(array);
  HANDOFF_SYNC_POINT(TokenOf(*array), "count down");
  // Release: our uses of the array come before its end. Acquire: whoever drops the last reference sees the uses of all others
  // before it ends it. One order for both cases, rather than a fence for the last one only, since ThreadSanitizer knows no
  // fences.
  const auto order = relaxed ? std::memory_order_relaxed : std::memory_order_acq_rel;
  if (array->references.fetch_sub(1, order) == 1) Destroy(array);
}

void ReadBorrowed(const Array& array, const ledger::View& meaning) {
  const Elements elements(array);
  const std::int64_t count = elements.Count();
  for (std::int64_t k = 0; k < count; ++k) {
    const Element element = elements.Read(k);
    ledger::BorrowedRead(meaning, k, element.low, element.high);
  }
}

void ReadAll(const Array& array) {
  if (array.storage != nullptr) {
    ReadBorrowed(array, Meaning(array));
    return;
  }
  ledger::Borrowed(array.number);
  const Elements elements(array);
  const std::int64_t count = elements.Count();
  for (std::int64_t k = 0; k < count; ++k) {
    const Element element = elements.Read(k);
    ledger::ElementRead(array.number, k, element.low, element.high);
  }
  ledger::Returned(array.number);
}

void WriteAll(Array& array) {
  if (!MayWrite(array)) return;
  const bool imported = array.storage == nullptr;
  if (imported) ledger::Borrowed(array.number);
  const ledger::View& meaning = Meaning(array);
  const Elements elements(array);
  const std::int64_t count = elements.Count();
  for (std::int64_t k = 0; k < count; ++k) {
    ledger::ElementInverted(meaning, k);
    Invert(elements.At(k), elements.value_bits);
  }
  if (imported) ledger::Returned(array.number);
}

}  // namespace handoff::dlpack
