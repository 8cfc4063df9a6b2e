#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kUncaughtException,
                                            "Proves that an exception that leaves an operation becomes a finding. "
                                            "Does not cover exceptions in destructors.");
  return target;
}

}  // namespace handoff
