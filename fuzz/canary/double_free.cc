#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kDoubleFree,
                                            "Proves that a second free becomes a finding. "
                                            "Without AddressSanitizer only as far as the allocator notices.");
  return target;
}

}  // namespace handoff
