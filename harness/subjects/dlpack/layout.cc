#include "harness/subjects/dlpack/layout.h"

namespace handoff::dlpack {

std::size_t StorageBytes(const ElementType& type) { return static_cast<std::size_t>(kStorageElements * UnitBytes(type)); }

Description Describe(const Layout& layout, const ElementType& type, unsigned char* storage) {
  Description description;
  description.null_strides = layout.null_strides;
  description.padded = type.padded;
  bool empty = false;
  for (int d = 0; d < layout.rank; ++d) {
    description.shape[d] = layout.shape[d];
    description.strides[d] = layout.strides[d];
    empty = empty || layout.shape[d] == 0;
  }
  description.view = {.data = empty ? nullptr : storage + layout.pointer * UnitBytes(type),
                      .device = {kDLCPU, 0},
                      .ndim = layout.rank,
                      .dtype = type.type,
                      .shape = nullptr,
                      .strides = nullptr,
                      .byte_offset = static_cast<std::uint64_t>(layout.offset * UnitBytes(type))};
  return description;
}

}  // namespace handoff::dlpack
