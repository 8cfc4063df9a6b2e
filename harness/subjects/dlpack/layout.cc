#include "harness/subjects/dlpack/layout.h"

#include <algorithm>

namespace handoff::dlpack {
namespace {

// The unit of Layout::pointer and Layout::offset, in bytes.
std::int64_t UnitBytes(const ElementType& type) { return std::max(1, ItemBits(type.type, type.padded) / 8); }

}  // namespace

std::size_t StorageBytes(const ElementType& type) { return static_cast<std::size_t>(kStorageElements * UnitBytes(type)); }

ledger::View ViewOf(const Layout& layout, const ElementType& type, int storage) {
  ledger::View view;
  view.storage = storage;
  view.rank = layout.rank;
  view.item_bits = ItemBits(type.type, type.padded);
  view.value_bits = type.type.bits * type.type.lanes;
  view.origin = (layout.pointer + layout.offset) * UnitBytes(type);
  view.refusal = type.refusal;
  for (int d = 0; d < layout.rank; ++d) {
    view.shape[d] = layout.shape[d];
    view.strides[d] = layout.strides[d];
  }
  return view;
}

DLTensor Describe(const Layout& layout, const ElementType& type, unsigned char* storage, std::int64_t* shape,
                  std::int64_t* strides) {
  bool empty = false;
  for (int d = 0; d < layout.rank; ++d) {
    shape[d] = layout.shape[d];
    strides[d] = layout.strides[d];
    empty = empty || shape[d] == 0;
  }
  DLTensor tensor = kNoTensor;
  tensor.data = empty ? nullptr : storage + layout.pointer * UnitBytes(type);
  tensor.ndim = layout.rank;
  tensor.dtype = type.type;
  tensor.shape = layout.rank == 0 ? nullptr : shape;
  tensor.strides = layout.rank == 0 ? nullptr : strides;
  tensor.byte_offset = static_cast<std::uint64_t>(layout.offset * UnitBytes(type));
  return tensor;
}

}  // namespace handoff::dlpack
