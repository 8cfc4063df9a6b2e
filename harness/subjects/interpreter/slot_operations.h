// The operations on object slots, and the twins of the designs.
#pragma once

#include <cstdint>
#include <span>

#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/subject.h"

namespace handoff::interpreter::slot {

// In the order of the table of operations: append only.
enum Code : std::uint8_t {
  kNew,
  kWrap,
  kUnwrap,
  kCopy,
  kDrop,
  kDropWrapper,
  kWeak,
  kLock,
  kGive,
  kTake,
  kPass,
  kReceive,
  kCollect,
  kDisarm,
  kDiscard
};
enum Design : std::uint8_t { kTag, kCountGil, kCountFree, kTied, kCountReuse, kDesigns };
enum How : std::uint8_t { kCopied, kMoved, kHermetic, kHows };

const Alphabet& Operations();
std::span<const Twin> Twins();
// `twin` as in Target::make.
Defect DefectOf(int twin);

}  // namespace handoff::interpreter::slot
