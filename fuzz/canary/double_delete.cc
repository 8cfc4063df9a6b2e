#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kDoubleDelete,
                                            "Proves that a judgement in the middle of an operation becomes a finding. "
                                            "Does not delete twice for real: see canary_double_free.");
  return target;
}

}  // namespace handoff
