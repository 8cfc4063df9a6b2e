#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kVerdict,
                                            "Proves that an oracle's verdict on any thread becomes a finding. "
                                            "Does not cover verdicts that only another order brings about.");
  return target;
}

}  // namespace handoff
