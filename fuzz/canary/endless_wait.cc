#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kEndlessWait,
                                            "Proves that a thread that pauses for ever gives the baton up. "
                                            "Does not cover waits for other threads.");
  return target;
}

}  // namespace handoff
