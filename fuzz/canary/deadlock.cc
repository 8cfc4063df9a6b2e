#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kDeadlock,
                                            "Proves that a cycle of two mutexes is reported. "
                                            "Does not cover other primitives: see canary_primitives.");
  return target;
}

}  // namespace handoff
