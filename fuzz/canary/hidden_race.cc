#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kHiddenRace,
                                            "Proves that `sync` points show races that whole operations hide. "
                                            "Does not need `access` points.");
  return target;
}

}  // namespace handoff
