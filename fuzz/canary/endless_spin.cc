#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kEndlessSpin,
                                            "Proves that the time-out ends a loop without calls and accesses. "
                                            "Does not cover loops with points: see canary_livelock.");
  return target;
}

}  // namespace handoff
