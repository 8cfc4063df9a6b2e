#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target =
      CanaryTarget(canary::kDataRace,
                   "Proves that ThreadSanitizer sees races although the scheduler serialises the threads. "
                   "Needs no switch inside an operation.");
  return target;
}

}  // namespace handoff
