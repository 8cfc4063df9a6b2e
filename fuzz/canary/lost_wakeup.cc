#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kLostWakeup,
                                            "Proves that a wait for a notification that has passed is a deadlock. "
                                            "Does not cover spurious wake-ups.");
  return target;
}

}  // namespace handoff
