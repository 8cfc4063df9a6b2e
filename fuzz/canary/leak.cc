#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kLeak,
                                            "Proves that a judgement at the end becomes a finding. "
                                            "Does not cover memory that no subject counts.");
  return target;
}

}  // namespace handoff
