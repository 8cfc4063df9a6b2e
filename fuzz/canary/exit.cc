#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kExit,
                                            "Proves that an exit inside a run becomes a finding. "
                                            "Does not cover _exit, which nobody can intercept.");
  return target;
}

}  // namespace handoff
