#include "fuzz/canary/canary_target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = CanaryTarget(canary::kWrongValue,
                                            "Proves that `sync` points show a wrong order of atomic operations. "
                                            "Without any data race.");
  return target;
}

}  // namespace handoff
