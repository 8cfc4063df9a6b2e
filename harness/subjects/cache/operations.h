// The operations of the caches' programs.
#pragma once

#include <cstdint>

#include "harness/case/case.h"

namespace handoff::cache {

// In the order of their codes, which binary cases store: append only.
enum Code : std::uint8_t {
  kLookup,
  kInsert,
  kInsertDefault,
  kResolve,
  kReplace,
  kGrow,
  kDrop,
  kShortLived,
  kCallLoop,
  kParse,
  kImport,
  kPack,
  kFetch,
  kDropWrapper,
  kCollect,
  kExportBuffer,
  kReleaseBuffer,
  kDropArray,
  kExitThread,
  kRenewKey
};

// What a resolver does while it runs: nothing of note; it blocks, detached; it allocates, which may collect and so stop the
// world; it exports a buffer, in another object's critical section.
enum class Resolver : std::uint8_t { kReturns, kWaits, kCollects, kExports };
inline constexpr int kResolvers = 4;

const Alphabet& CacheOperations();

}  // namespace handoff::cache
