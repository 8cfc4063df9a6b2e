#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kNondeterminism,
                                            "Proves that running a case twice notices what the case does not decide. "
                                            "Does not cover addresses and time.");
  return target;
}

}  // namespace handoff
