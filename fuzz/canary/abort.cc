#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kAbort,
                                            "Proves that an abort on any thread becomes a finding. "
                                            "Does not cover signals sent from outside.");
  return target;
}

}  // namespace handoff
