#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kPrimitives,
                                            "Proves that each blocking primitive is modelled. "
                                            "Does not cover primitives between processes.");
  return target;
}

}  // namespace handoff
