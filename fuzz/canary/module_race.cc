#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kModuleRace,
                                            "Proves that access points reach a module loaded at run time. "
                                            "Does not cover modules without instrumentation.");
  return target;
}

}  // namespace handoff
