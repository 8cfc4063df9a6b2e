#include "harness/run/exchange.h"

#include <sys/mman.h>

#include "harness/run/artifact.h"

namespace handoff {

namespace {

// Exchange::kept: the answer, and in the lowest bit which path.
constexpr std::uint32_t kWhichPath = 1;

Kept Decode(const Exchange& exchange, std::uint32_t kept) {
  return {.answer = Answer{kept >> 1U}, .path = exchange.paths[kept & kWhichPath]};
}

}  // namespace

Exchange* NewExchange() {
  void* block = mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : static_cast<Exchange*>(block);
}

// Acquire: the path was written before.
Kept ReadKept(const Exchange& exchange) { return Decode(exchange, __atomic_load_n(&exchange.kept, __ATOMIC_ACQUIRE)); }

Kept ReadKeptAndLeave(Exchange& exchange) {
  // Sequentially consistent, as are Keep and IsLeaving: either we see the newer file here, or our leaving is seen there.
  __atomic_store_n(&exchange.leaving, 1, __ATOMIC_SEQ_CST);
  return Decode(exchange, __atomic_load_n(&exchange.kept, __ATOMIC_SEQ_CST));
}

void Keep(Exchange& exchange, Answer answer, const char* path) {
  const std::uint32_t which = (exchange.kept & kWhichPath) ^ kWhichPath;
  CopyText(exchange.paths[which], sizeof exchange.paths[which], path);
  __atomic_store_n(&exchange.kept, static_cast<std::uint32_t>(answer) << 1U | which, __ATOMIC_SEQ_CST);
}

bool IsLeaving(const Exchange& exchange) { return __atomic_load_n(&exchange.leaving, __ATOMIC_SEQ_CST) != 0; }

}  // namespace handoff
