#include "harness/subjects/dlpack/meaning.h"

#include "harness/oracle/verdict.h"

namespace handoff::dlpack {
namespace {

const char* RefusalOf(Kind kind) {
  switch (kind) {
    case Kind::kOtherDevice:
      return "R23";
    case Kind::kDeviceNumber:
      return "R21a";
    case Kind::kNegativeRank:
    case Kind::kHighRank:
      return "R16";
    default:
      return nullptr;
  }
}

ledger::View MeaningOf(const Array& array, Kind kind) {
  ledger::View view = Meaning(array);
  view.foreign = kind == Kind::kNextMajor || kind == Kind::kMajorZero;
  view.read_only = view.read_only || kind == Kind::kReadOnly;
  view.copied = kind == Kind::kCopied;
  if (view.refusal == nullptr) view.refusal = RefusalOf(kind);
  return view;
}

void CheckData(const DLTensor& tensor, const ledger::View& view) {
  bool empty = false;
  for (int d = 0; d < view.rank; ++d) empty = empty || view.shape[d] == 0;
  if (empty && tensor.data != nullptr)
    oracle::Fail("protocol", "R17", "A tensor without elements is exported with data. It has none, so data is NULL.");
}

// A header before 1.2 still allows NULL strides.
void CheckStrides(const DLManagedTensorVersioned& tensor, const ledger::View& view) {
  const bool must = tensor.version.major > 1 || (tensor.version.major == 1 && tensor.version.minor >= 2);
  if (must && view.rank != 0 && tensor.dl_tensor.strides == nullptr) {
    oracle::Fail(
        "protocol", "R18",
        "A tensor of rank %d and version %u.%u is exported with NULL strides. Only legacy structs and versions before 1.2 "
        "may leave them out.",
        view.rank, tensor.version.major, tensor.version.minor);
  }
}

// That makes a producer set the flag; of several flags the first.
const char* RuleOfFlag(std::uint64_t flags) {
  if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) return "R30";
  return (flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0 ? "R24" : "R21";
}

void CheckFlags(const DLManagedTensorVersioned& tensor, const ledger::View& view) {
  std::uint64_t right = 0;
  if (view.read_only) right |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (view.copied) right |= DLPACK_FLAG_BITMASK_IS_COPIED;
  if (view.item_bits != view.value_bits) right |= kSubbyteTypePadded;
  if (const std::uint64_t more = tensor.flags & ~right; more != 0) {
    oracle::Fail("protocol", "R29", "A tensor is exported with the flags 0x%llx, for which there is no reason.",
                 static_cast<unsigned long long>(more));
  }
  const std::uint64_t missing = right & ~tensor.flags;
  if (missing == 0) return;
  oracle::Fail("protocol", RuleOfFlag(missing), "A tensor is exported without the flags 0x%llx, which its consumers must see.",
               static_cast<unsigned long long>(missing));
}

}  // namespace

int TellStorage(const unsigned char* bytes, std::size_t size, const Layout& layout, const ElementType& type) {
  ledger::View view;
  view.storage = ledger::AddStorage(bytes, size);
  view.rank = layout.rank;
  view.item_bits = ItemBits(type.type, type.padded);
  view.value_bits = type.type.bits * type.type.lanes;
  view.origin = (layout.pointer + layout.offset) * UnitBytes(type);
  view.offset = layout.offset * UnitBytes(type);
  view.refusal = type.refusal;
  for (int d = 0; d < layout.rank; ++d) {
    view.shape[d] = layout.shape[d];
    view.strides[d] = layout.strides[d];
  }
  ledger::StorageShows(view);
  return view.storage;
}

int TellCopy(const unsigned char* bytes, std::size_t size, const Array& from) {
  ledger::View view = Meaning(from);
  view.read_only = view.copied = false;
  view.storage = ledger::AddCopy(bytes, size, view);
  view.origin = view.offset = 0;
  std::int64_t step = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = step;
    step *= view.shape[d];
  }
  ledger::StorageShows(view);
  return view.storage;
}

void TellExport(const DLManagedTensor& tensor, const Array& array, Kind kind) {
  const ledger::View view = MeaningOf(array, kind);
  CheckData(tensor.dl_tensor, view);
  ledger::Exported(&tensor, view);
}

void TellExport(const DLManagedTensorVersioned& tensor, const Array& array, Kind kind) {
  const ledger::View view = MeaningOf(array, kind);
  CheckData(tensor.dl_tensor, view);
  CheckStrides(tensor, view);
  CheckFlags(tensor, view);
  ledger::Exported(&tensor, view);
}

const ledger::View& Meaning(const Array& array) {
  return array.storage != nullptr ? ledger::StorageMeaning(array.number) : ledger::Meaning(array.number);
}

}  // namespace handoff::dlpack
