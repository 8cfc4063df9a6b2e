#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kStaleRead,
                                            "Proves that a sanitizer's report on any thread becomes a finding. "
                                            "Does not cover accesses that only another order makes wrong.");
  return target;
}

}  // namespace handoff
