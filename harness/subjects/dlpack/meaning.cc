#include "harness/subjects/dlpack/meaning.h"

namespace handoff::dlpack {
namespace {

const char* RefusalOf(Kind kind) {
  switch (kind) {
    case Kind::kOtherDevice:
      return "R23";
    case Kind::kDeviceNumber:
      return "R21a";
    case Kind::kNegativeRank:
      return "R16";
    default:
      return nullptr;
  }
}

}  // namespace

int TellStorage(const unsigned char* bytes, std::size_t size, const Layout& layout, const ElementType& type) {
  ledger::View view;
  view.storage = ledger::AddStorage(bytes, size);
  view.rank = layout.rank;
  view.item_bits = ItemBits(type.type, type.padded);
  view.value_bits = type.type.bits * type.type.lanes;
  view.origin = (layout.pointer + layout.offset) * UnitBytes(type);
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
  view.origin = 0;
  std::int64_t step = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = step;
    step *= view.shape[d];
  }
  ledger::StorageShows(view);
  return view.storage;
}

void TellExport(const void* tensor, const Array& array, Kind kind) {
  ledger::View view = Meaning(array);
  view.foreign = kind == Kind::kNextMajor;
  view.read_only = view.read_only || kind == Kind::kReadOnly;
  view.copied = kind == Kind::kCopied;
  if (view.refusal == nullptr) view.refusal = RefusalOf(kind);
  ledger::Exported(tensor, view);
}

const ledger::View& Meaning(const Array& array) {
  return array.storage != nullptr ? ledger::StorageMeaning(array.number) : ledger::Meaning(array.number);
}

}  // namespace handoff::dlpack
