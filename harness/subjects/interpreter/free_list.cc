#include "harness/subjects/interpreter/free_list.h"

#include "harness/oracle/verdict.h"

#if defined(__SANITIZE_ADDRESS__)
#define HANDOFF_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HANDOFF_POISONS 1
#endif
#endif

#ifdef HANDOFF_POISONS
#include <sanitizer/asan_interface.h>
#else
#include <algorithm>
#endif

namespace handoff::interpreter {

#ifdef HANDOFF_POISONS

void PoisonFreed(void* begin, std::size_t size) { __asan_poison_memory_region(begin, size); }
void UnpoisonFreed(void* begin, std::size_t size) { __asan_unpoison_memory_region(begin, size); }

#else

namespace {
constexpr unsigned char kFreed = 0xdd;
}

void PoisonFreed(void* begin, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(begin);
  std::fill(bytes, bytes + size, kFreed);
}

void UnpoisonFreed(void* begin, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(begin);
  if (std::all_of(bytes, bytes + size, [](unsigned char byte) { return byte == kFreed; })) return;
  oracle::Fail("use-after-delete", "S0", "A freed object was written to before its memory was used again.");
}

#endif

}  // namespace handoff::interpreter
