// A table of a subject's twins: what each one is called and breaks, beside the defect that makes it so.
#pragma once

#include <array>
#include <cstddef>

#include "harness/subjects/subject.h"

namespace handoff {

// `Defect` is the subject's own enumeration, of which kNone is the safe twin.
template <typename Defect>
struct TwinOf {
  Twin twin;
  Defect defect;
};

// The column that a target publishes (Target::twins).
template <typename Defect, std::size_t n>
constexpr std::array<Twin, n> TwinsOf(const std::array<TwinOf<Defect>, n>& table) {
  std::array<Twin, n> twins;
  for (std::size_t i = 0; i < n; ++i) twins[i] = table[i].twin;
  return twins;
}

// `twin` as in Target::make: an index of `table`, or negative for the safe one.
template <typename Defect, std::size_t n>
constexpr Defect DefectOf(const std::array<TwinOf<Defect>, n>& table, int twin) {
  return twin < 0 ? Defect::kNone : table[static_cast<std::size_t>(twin)].defect;
}

}  // namespace handoff
