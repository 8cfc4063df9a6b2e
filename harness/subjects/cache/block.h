// What all dispatch tables are made of: keys compared by identity, an open-addressing hash table of them, and its invariants.
//
// The table is NumPy's: a power of two of buckets, at most half of them full, an empty value for an empty bucket, no deletion. It
// owns neither keys nor values (invariant 9 is the owner's duty, see owner.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace handoff::cache {

// The identities of two objects, say the types of an argument and of a result; null is a legal word.
struct Key {
  std::uintptr_t words[2] = {};
  bool operator==(const Key&) const = default;
};

// Few keys, so that threads meet. The first three want the same bucket in tables of 4, 8 and 16.
inline constexpr int kKeys = 5;
// Fixed numbers where a library would have addresses, so that a case probes the same buckets on every machine.
Key KeyNumber(int key);

// What a table maps a key to. Immutable once it is in a table; owned by the table's owner, which frees it last.
struct Implementation {
  int number = 0;  // from 1, unique in an execution
  int key = 0;     // for which it was made
  const Implementation* next = nullptr;
  int key_object = 0;  // number of the object that had the key's address then (key_objects.h)
};

// `value` says whether the bucket is full, so it is written last, and the key never changes afterwards.
struct Bucket {
  const Implementation* value = nullptr;  // not owned
  Key key;
};

inline constexpr std::size_t kFirstSize = 4;
inline constexpr std::size_t kMaxSize = 64;  // of blocks that operation `grow` makes

struct Block {
  explicit Block(std::size_t buckets_wanted);

  Block* previous = nullptr;  // owned by the table: an older block that readers may still be in
  const std::size_t size;
  std::size_t used = 0;  // full buckets
  const std::unique_ptr<Bucket[]> buckets;
};

// Where a probe ended, and what the one load that ended it saw: null if the key is absent and would go here.
struct Place {
  Bucket* bucket;
  const Implementation* value;
};
// How the value of bucket number `index` is read: plainly under a lock, with acquire without one.
using Load = const Implementation* (*)(Block & block, std::size_t index, int table);
const Implementation* LoadPlainly(Block& block, std::size_t index, int table);

// Ends because at least half of the buckets are empty. `table` is passed on to `load`.
Place Probe(Block& block, const Key& key, Load load, int table);

// Whether the next insertion has to grow first.
bool IsHalfFull(const Block& block);
// A block of the given size with the same entries. The caller owns it; nobody else may write to `block` meanwhile.
Block* Copy(Block& block, std::size_t size);

// At the end, on the driver: invariants 6 (structure), 7 (blocks before it halve in size and are as they were when they were
// outgrown) and 8 (they are smaller together than twice the newest).
void CheckBlocks(Block& newest);

}  // namespace handoff::cache
