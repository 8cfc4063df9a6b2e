#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kUseAfterFree,
                                            "Proves that a use of freed memory becomes a finding. "
                                            "Does not cover memory that is in use again.");
  return target;
}

}  // namespace handoff
