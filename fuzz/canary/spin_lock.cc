#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kSpinLock,
                                            "Proves that a thread that spins loses the baton. "
                                            "Does not cover loops without accesses: see canary_endless_spin.");
  return target;
}

}  // namespace handoff
