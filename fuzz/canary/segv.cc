#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kSegv,
                                            "Proves that a bad access on any thread becomes a finding. "
                                            "Does not cover stack overflow.");
  return target;
}

}  // namespace handoff
