// Threads race to export, consume, re-export, share and delete DLPack tensors over the C ABI alone. Does not cover Python:
// capsules, thread states and the C exchange API are those of dlpack_capsule.
#include "harness/run/target.h"
#include "harness/subjects/dlpack/exchange.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "dlpack_exchange";
    t.summary =
        "Exchanges DLPack tensors between threads over the C ABI and judges who owns and deletes them. Does not cover Python: "
        "capsules and thread states.";
    t.carrier = schedule::Carrier::kFiber;
    t.alphabet = dlpack::Exchange::Operations();
    t.twins = dlpack::Exchange::Twins();
    t.make = dlpack::Exchange::Make;
    return t;
  }();
  return target;
}

}  // namespace handoff
