#include "harness/schedule/strategy.h"

namespace handoff::schedule {

void Strategy::Created(int) {}

Strategy& GetStrategy(handoff::Strategy which) {
  switch (which) {
    case handoff::Strategy::kBytes:
      return BytesStrategy();
    case handoff::Strategy::kRandom:
      return RandomStrategy();
    case handoff::Strategy::kPct:
      return PctStrategy();
    case handoff::Strategy::kPos:
      return PosStrategy();
    case handoff::Strategy::kSurw:
      return SurwStrategy();
    case handoff::Strategy::kListed:
      return ListedStrategy();
    case handoff::Strategy::kFree:
      break;
  }
  __builtin_trap();
}

bool NeedsProfile(handoff::Strategy which) { return which == handoff::Strategy::kPct || which == handoff::Strategy::kSurw; }

}  // namespace handoff::schedule
