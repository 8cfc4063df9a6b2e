#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kCreatedThread,
                                            "Proves that threads created inside a run are controlled and their races seen. "
                                            "Does not cover detached threads.");
  return target;
}

}  // namespace handoff
