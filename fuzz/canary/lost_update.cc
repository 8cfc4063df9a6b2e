#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kLostUpdate,
                                            "Proves that switches at single accesses happen. "
                                            "Cannot fail at `op` and `sync`.");
  return target;
}

}  // namespace handoff
