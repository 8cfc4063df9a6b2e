#include "harness/subjects/dlpack/layout.h"

namespace handoff::dlpack {
namespace {

template <typename Table>
constexpr auto NamesOf(const Table& table) {
  std::array<std::string_view, std::tuple_size_v<Table>> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = table[i].name;
  return names;
}

}  // namespace

constinit const std::array<std::string_view, kLayouts.size()> kLayoutNames = NamesOf(kLayouts);
constinit const std::array<std::string_view, kElementTypes.size()> kElementTypeNames = NamesOf(kElementTypes);

ledger::View ViewOf(const Layout& layout, const DLDataType& type, int storage) {
  ledger::View view;
  view.storage = storage;
  view.rank = layout.rank;
  view.item_size = static_cast<int>(ItemSize(type));
  view.origin = (layout.pointer + layout.offset) * view.item_size;
  for (int d = 0; d < layout.rank; ++d) {
    view.shape[d] = layout.shape[d];
    view.strides[d] = layout.strides[d];
  }
  return view;
}

DLTensor Describe(const Layout& layout, const DLDataType& type, unsigned char* storage, bool legacy, std::int64_t* shape,
                  std::int64_t* strides) {
  bool empty = false;
  for (int d = 0; d < layout.rank; ++d) {
    shape[d] = layout.shape[d];
    strides[d] = layout.strides[d];
    empty = empty || shape[d] == 0;
  }
  const auto item = static_cast<std::int64_t>(ItemSize(type));
  DLTensor tensor{};
  tensor.data = empty ? nullptr : storage + layout.pointer * item;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = layout.rank;
  tensor.dtype = type;
  tensor.shape = layout.rank == 0 ? nullptr : shape;
  tensor.strides = layout.rank == 0 || (legacy && layout.null_strides) ? nullptr : strides;
  tensor.byte_offset = static_cast<std::uint64_t>(layout.offset * item);
  return tensor;
}

}  // namespace handoff::dlpack
