// Several locks at once: the allocators of the strings in an operation's arrays, locked in ascending order of address, each once.
#pragma once

#include <mutex>
#include <span>

namespace handoff::cache {

struct Allocator {
  std::mutex mutex;
  int strings = 0;  // guarded by mutex
};

inline constexpr int kMaxAllocatorsLocked = 3;

// Locks the allocators, in which one may occur several times, adds a string to each distinct one, and unlocks them. At most
// kMaxAllocatorsLocked; any thread. Returns how many distinct ones there were.
int AddStrings(std::span<Allocator* const> allocators);

}  // namespace handoff::cache
