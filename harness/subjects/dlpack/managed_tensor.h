// Managed tensors: how a producer makes them, how a consumer takes them in, and how they end.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "harness/subjects/dlpack/array.h"

namespace handoff::dlpack {

// What is exported: the legacy struct, or the versioned one with something that consumers must notice. Text cases use the names
// of kKindNames: append only.
enum class Kind : std::uint8_t {
  kLegacy,
  kVersioned,
  kReadOnly,
  kCopied,        // the elements, in memory that nobody else has (R24)
  kNextMajor,     // a foreign major version (R12)
  kNoDeleter,     // lent: the producer ends it by itself, later (R1)
  kOtherDevice,   // not on a CPU: `data` is no address (R23)
  kDeviceNumber,  // on CPU number 1, which does not exist (R21a)
  kNegativeRank,  // R16
  kDeferred,      // of Python only: its deleter queues the owner (deferred.h)
  kCached,        // of Python only: the producer keeps its capsule and returns it each time
  kHighRank,      // more dimensions than our consumers have room for
  kMajorZero,     // a foreign major version too: before 1 there were no versioned structs
  kNoKeywords,    // of Python only: a producer from before there were keywords, which raises TypeError for any (R25)
};
inline constexpr std::array<std::string_view, 14> kKindNames = {
    "legacy",        "versioned",     "read_only", "copied", "next_major", "no_deleter", "other_device",
    "device_number", "negative_rank", "deferred",  "cached", "high_rank",  "major_zero", "no_keywords"};
// Those that a producer in pure C++ can be asked for. Text cases of dlpack_exchange use their names: append only.
inline constexpr std::array<Kind, 11> kNativeKinds = {
    Kind::kLegacy,      Kind::kVersioned,    Kind::kReadOnly,     Kind::kCopied,   Kind::kNextMajor, Kind::kNoDeleter,
    Kind::kOtherDevice, Kind::kDeviceNumber, Kind::kNegativeRank, Kind::kHighRank, Kind::kMajorZero};
inline constexpr auto kNativeKindNames = [] {
  std::array<std::string_view, kNativeKinds.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKindNames[static_cast<std::size_t>(kNativeKinds[i])];
  return names;
}();

// The flag for padded elements, which headers before 1.1 do not name.
inline constexpr std::uint64_t kSubbyteTypePadded = 1U << 2U;

// Whether a struct of this kind can describe the array: a legacy one has no flags to say "read only" (R32) or "padded".
bool CanDescribe(const Array& array, Kind kind);

// The parts of a producer. A new managed tensor (DLManagedTensor or DLManagedTensorVersioned) that shows `array`, with `owner` in
// manager_ctx to keep the payload alive. Owned by the caller until it is published.
template <typename Managed>
Managed* NewExport(const Array& array, Kind kind, void* owner, void (*deleter)(Managed* self));
// What such a deleter does first: tells the ledger, frees the struct (R2) and returns the owner, which is still to be dropped.
template <typename Managed>
void* EndExport(Managed* self);

// The pure C++ producer: the managed tensor takes over the caller's reference to `array` and holds it until its deleter is
// called, by any thread.
DLManagedTensor* ExportLegacy(Array* array);
DLManagedTensorVersioned* ExportVersioned(Array* array, Kind kind);
// Ends the tensors of kind kNoDeleter, the newest first, since it may keep alive what an older one lent, as far as nobody holds
// them any more (which a real producer cannot know; the ledger does). After all operations, with whatever their deleters need.
void EndLoans();

// Where a consumer may fail. Text cases use the names: append only.
enum class Step : std::uint8_t { kClaimed, kRenamed, kAllocated, kDescribed, kNever };
inline constexpr std::array<std::string_view, 4> kStepNames = {"claimed", "renamed", "allocated", "described"};

// An array that owns `tensor` from now on, whatever happens: null is returned if the consumer cannot use it or fails at `fails`,
// and then its deleter has been called. `number` is the ledger's.
Array* Import(DLManagedTensor* tensor, int number, Step fails);
Array* Import(DLManagedTensorVersioned* tensor, int number, Step fails);

// The way out of a consumer that owns `tensor` and cannot use it.
void Refuse(DLManagedTensor* tensor, int number);
void Refuse(DLManagedTensorVersioned* tensor, int number);
// Calls the deleter unless there is none (R1). The caller owns `tensor` and has told the ledger.
void CallDeleter(DLManagedTensor* tensor);
void CallDeleter(DLManagedTensorVersioned* tensor);

}  // namespace handoff::dlpack
