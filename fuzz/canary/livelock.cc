#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kLivelock,
                                            "Proves that yielding for ever is reported. "
                                            "Does not cover loops without points: see canary_endless_spin.");
  return target;
}

}  // namespace handoff
