// The tensors that the operations export: a closed table of layouts and a table of element types, small and nasty on purpose.
// Compiled without sanitizers: reading a constant table is no access worth a switch.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/oracle/ledger.h"

namespace handoff::dlpack {

// Elements in each storage, whatever the layout shows of them; twice as many of a packed type.
inline constexpr int kStorageElements = 8;

// Where the elements of a tensor lie in its storage. Everything is counted in elements.
struct Layout {
  std::string_view name;
  int rank;
  std::int64_t shape[ledger::kMaxRank];
  std::int64_t strides[ledger::kMaxRank];
  std::int64_t pointer;  // from the storage's start to what `data` points at; of a packed type in whole bytes
  std::int64_t offset;   // the further way that is put into `byte_offset`, likewise
  bool null_strides;     // written as NULL, "compact row-major": legal in a legacy struct only (R18)
};

// Text cases name layouts by these names, in this order: append only.
inline constexpr std::array<Layout, 10> kLayouts = {{
    {"vector", 1, {4}, {1}, 0, 0, false},
    {"matrix", 2, {2, 3}, {3, 1}, 0, 0, false},
    {"offset", 1, {3}, {1}, 0, 2, false},            // byte_offset must be honoured (R20)
    {"sliced", 1, {2}, {2}, 1, 2, false},            // pointer, byte_offset and stride together
    {"transposed", 2, {3, 2}, {1, 3}, 0, 0, false},  // Fortran order
    {"reversed", 1, {4}, {-1}, 3, 0, false},         // a negative stride: `data` is not the lowest address
    {"broadcast", 2, {3, 2}, {0, 1}, 0, 0, false},   // rows share their elements
    {"scalar", 0, {}, {}, 5, 0, false},              // rank 0: shape and strides are NULL (R16)
    {"empty", 2, {0, 4}, {4, 1}, 0, 0, false},       // no elements: data is NULL (R17)
    {"compact", 2, {2, 2}, {2, 1}, 0, 0, true},
}};

struct ElementType {
  std::string_view name;
  DLDataType type;
  bool padded;          // a type below one byte whose elements take a byte each; only a versioned struct can say so
  const char* refusal;  // the rule by which our consumers must refuse it, or null
};

// The code of kDLFloat4_e2m1fn, which headers before 1.1 do not name.
inline constexpr std::uint8_t kFloat4Code = 17;

// As above: append only.
inline constexpr std::array<ElementType, 11> kElementTypes = {{
    {"int32", {kDLInt, 32, 1}, false, nullptr},
    {"uint8", {kDLUInt, 8, 1}, false, nullptr},
    {"float64", {kDLFloat, 64, 1}, false, nullptr},
    {"complex128", {kDLComplex, 128, 1}, false, nullptr},
    {"int4", {kDLInt, 4, 1}, false, nullptr},  // packed: two elements a byte, the first in the low bits
    {"int4_padded", {kDLInt, 4, 1}, true, nullptr},
    {"unknown", {250, 8, 1}, false, "R13"},  // a code of some later minor version
    {"float4_wide", {kFloat4Code, 8, 1}, false, "R21"},
    {"bool", {kDLBool, 8, 1}, false, nullptr},
    {"float16", {kDLFloat, 16, 1}, false, nullptr},
    {"lanes", {kDLUInt, 8, 4}, false, "R21"},  // vectors of four, for consumers that have scalars only
}};

// Of the last two tables, for argument lists.
template <typename Row, std::size_t kRows>
consteval auto NamesOf(const std::array<Row, kRows>& table) {
  std::array<std::string_view, kRows> names;
  for (std::size_t i = 0; i < kRows; ++i) names[i] = table[i].name;
  return names;
}
inline constexpr auto kLayoutNames = NamesOf(kLayouts);
inline constexpr auto kElementTypeNames = NamesOf(kElementTypes);

// From one element to the next, in bits.
constexpr int ItemBits(const DLDataType& type, bool padded) { return padded ? 8 : type.bits * type.lanes; }
// Bytes of a storage, a multiple of 8.
std::size_t StorageBytes(const ElementType& type);

// The unit of Layout::pointer and Layout::offset, in bytes.
constexpr std::int64_t UnitBytes(const ElementType& type) {
  const int bytes = ItemBits(type.type, type.padded) / 8;
  return bytes > 0 ? bytes : 1;
}

// A DLTensor with the shape and strides that it points to, or will point to once they are where they stay; as far as its rank
// goes.
struct Description {
  DLTensor view;
  std::int64_t shape[ledger::kMaxRank];
  std::int64_t strides[ledger::kMaxRank];
  bool null_strides = false;  // a legacy export leaves the strides out
  bool padded = false;        // elements below one byte take a byte each
};
Description Describe(const Layout& layout, const ElementType& type, unsigned char* storage);

}  // namespace handoff::dlpack
