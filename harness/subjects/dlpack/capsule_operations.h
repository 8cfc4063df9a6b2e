// The operations of dlpack_capsule and its twins, as tables.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/case/case.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/subject.h"

namespace handoff::dlpack::capsule {

// Few, so that threads meet.
inline constexpr int kSlots = 3;
inline constexpr int kBoxes = 2;

// Codes of operations: append only.
enum Code : std::uint8_t {
  kExport,
  kConsume,
  kImport,
  kRefuse,
  kReexport,
  kExportAgain,
  kRead,
  kDrop,
  kRelease,
  kReleaseOnNewThread,
  kForget,
  kGive,
  kShare,
  kTake,
  kFinalize,
  kNegotiate,
  kApi,
  kExportFromSubinterpreter,
  kWrite,
  kCollect,
  kImportStranger
};

// Values of arguments. Text cases use the names: append only.
enum State : std::uint8_t { kAttached, kDetached, kLocked };
inline constexpr std::array<std::string_view, 3> kStateNames = {"attached", "detached", "locked"};
enum Pending : std::uint8_t { kNothing, kException };
inline constexpr std::array<std::string_view, 2> kPendingNames = {"nothing", "exception"};
enum When : std::uint8_t { kAfter, kDuring };
inline constexpr std::array<std::string_view, 2> kWhenNames = {"after", "during"};
enum Action : std::uint8_t { kApiImport, kApiWrap, kApiBorrow, kApiAllocate, kApiAllocateElsewhere };
inline constexpr std::array<std::string_view, 5> kActionNames = {"import", "wrap", "borrow", "allocate", "allocate_elsewhere"};

const Alphabet& Operations();
std::span<const Twin> Twins();
// Of the twin with this index, or kNone for -1.
Defect DefectOf(int twin);

}  // namespace handoff::dlpack::capsule
