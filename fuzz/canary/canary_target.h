// Makes a target of a canary. HANDOFF_CARRIER=thread runs those on fibers on threads instead (harness/run).
#pragma once

#include <string_view>

#include "harness/run/target.h"
#include "harness/subjects/canary/canary.h"

namespace handoff {

inline Target CanaryTarget(const canary::Canary& canary, std::string_view summary,
                           schedule::Carrier carrier = schedule::Carrier::kFiber) {
  return {.name = canary.name,
          .summary = summary,
          .carrier = carrier,
          .alphabet = {canary.operations},
          .twins = canary.twins,
          .make = canary.make};
}

}  // namespace handoff
