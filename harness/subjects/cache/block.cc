#include "harness/subjects/cache/block.h"

#include <bit>

#include "harness/oracle/verdict.h"

namespace handoff::cache {
namespace {

using oracle::Fail;

constexpr Key kAllKeys[kKeys] = {{{0x1010}}, {{0x1060}}, {{0x10c0}}, {{0x10f0}}, {{0x1040}}};

// The mixing of xxHash for 64-bit words, as NumPy has it. Addresses are multiples of 16, hence the rotation by 4.
constexpr std::uint64_t Hash(const Key& key) {
  std::uint64_t hash = 2870177450012600261U;
  for (const std::uint64_t word : key.words) {
    hash += std::rotr(word, 4) * 14029467366897019727U;
    hash = std::rotl(hash, 31) * 11400714785074694791U;
  }
  return hash;
}

static_assert(Hash(kAllKeys[0]) % 16 == Hash(kAllKeys[1]) % 16 && Hash(kAllKeys[0]) % 16 == Hash(kAllKeys[2]) % 16);

// The walk through the buckets of a table of `mask + 1`, ends in each of them sooner or later.
struct Walk {
  std::size_t mask;
  std::uint64_t perturb;
  std::size_t at;

  Walk(const Key& key, std::size_t size) : mask(size - 1), perturb(Hash(key)), at(perturb & mask) {}
  void Next() {
    perturb >>= 5;
    at = (5 * at + perturb + 1) & mask;
  }
};

// `rule` is what a block breaks that is not as it should be, and `why` another sentence of the verdict.
void CheckBlock(Block& block, const char* rule, const char* why) {
  std::size_t full = 0;
  for (std::size_t i = 0; i < block.size; ++i) {
    const Bucket& bucket = block.buckets[i];
    if (bucket.value == nullptr) continue;
    ++full;
    const Place place = Probe(block, bucket.key, &LoadPlainly, 0);
    if (place.bucket == &bucket) continue;
    Fail("protocol", rule,
         "A probe for the key in bucket %zu ends in another bucket: the key is in the table twice, or not "
         "where its hash leads to.%s",
         i, why);
  }
  if (full != block.used || full * 2 > block.size || block.size < kFirstSize || !std::has_single_bit(block.size)) {
    Fail("protocol", rule,
         "A block of %zu buckets says that %zu are full, and %zu are. Expected equal counts, at most half of the buckets, and a "
         "power of two.%s",
         block.size, block.used, full, why);
  }
}

}  // namespace

Key KeyNumber(int key) { return kAllKeys[key]; }

Block::Block(std::size_t buckets_wanted) : size(buckets_wanted), buckets(std::make_unique<Bucket[]>(buckets_wanted)) {}

const Implementation* LoadPlainly(Block& block, std::size_t index, int /*table*/) { return block.buckets[index].value; }

Place Probe(Block& block, const Key& key, Load load, int table) {
  for (Walk walk(key, block.size);; walk.Next()) {
    Bucket& bucket = block.buckets[walk.at];
    const Implementation* value = load(block, walk.at, table);
    if (value == nullptr || bucket.key == key) return {&bucket, value};
  }
}

bool IsHalfFull(const Block& block) { return (block.used + 1) * 2 > block.size; }

Block* Copy(Block& block, std::size_t size) {
  auto* copy = new Block(size);
  for (std::size_t i = 0; i < block.size; ++i) {
    const Bucket& bucket = block.buckets[i];
    if (bucket.value == nullptr) continue;
    *Probe(*copy, bucket.key, &LoadPlainly, 0).bucket = bucket;
    ++copy->used;
  }
  return copy;
}

void CheckBlocks(Block& newest) {
  CheckBlock(newest, "invariant 6", "");
  std::size_t together = 0;
  for (Block* block = &newest; block != nullptr; block = block->previous) together += block->size;
  if (together >= 2 * newest.size) {
    Fail("protocol", "invariant 8",
         "The blocks of a table have %zu buckets together and the newest has %zu. Expected less than twice as many: retained "
         "blocks "
         "must halve in size.",
         together, newest.size);
  }
  for (Block* block = &newest; block->previous != nullptr; block = block->previous) {
    if (block->previous->size * 2 == block->size) continue;
    Fail("protocol", "invariant 7", "A block of %zu buckets comes after one of %zu. Expected twice the size.", block->size,
         block->previous->size);
  }
  for (Block* block = newest.previous; block != nullptr; block = block->previous) {
    CheckBlock(*block, "invariant 7", " It was outgrown, and an outgrown block must not change: readers may be in it.");
  }
}

}  // namespace handoff::cache
