#include "harness/subjects/cache/key_objects.h"

#include <cstdint>

#include "harness/oracle/verdict.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache::key_objects {
namespace {

// The number in the upper half, the references in the lower one, so that both change at once.
std::uint64_t objects[watch::kMaxKeys];
constexpr std::uint64_t kNext = std::uint64_t{1} << 32;

int NumberIn(std::uint64_t object) { return static_cast<int>(object >> 32); }
std::uint32_t ReferencesIn(std::uint64_t object) { return static_cast<std::uint32_t>(object); }

}  // namespace

void Reset() {
  for (std::uint64_t& object : objects) object = 0;
}

int Retain(int key) { return NumberIn(__atomic_fetch_add(&objects[key], 1, __ATOMIC_SEQ_CST)); }
void Release(int key) { __atomic_fetch_sub(&objects[key], 1, __ATOMIC_SEQ_CST); }
int Current(int key) { return NumberIn(__atomic_load_n(&objects[key], __ATOMIC_SEQ_CST)); }

void Renew(int key) {
  std::uint64_t object = __atomic_load_n(&objects[key], __ATOMIC_SEQ_CST);
  if (ReferencesIn(object) != 0) return;
  // Once: whoever is faster refers to it or has renewed it.
  __atomic_compare_exchange_n(&objects[key], &object, object + kNext, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void Judge() {
  for (int key = 0; key < watch::kMaxKeys; ++key) {
    if (ReferencesIn(objects[key]) == 0) continue;
    oracle::Fail(
        "missing-delete", "invariant 9",
        "%u references to the object of key %d are left when all tables are gone. Expected an owner to give up those that "
        "its implementations have.",
        ReferencesIn(objects[key]), key);
  }
}

}  // namespace handoff::cache::key_objects
