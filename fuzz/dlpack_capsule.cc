// Threads race to export, consume, re-export and delete DLPack tensors that travel in Python capsules, inside a free-threaded
// CPython. Does not cover other libraries' producers and consumers, nor threads that attach while another one finalises.
#include "harness/run/target.h"
#include "harness/subjects/dlpack/capsule.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "dlpack_capsule";
    t.summary =
        "Exchanges DLPack tensors between threads in capsules of a free-threaded CPython and judges who owns and deletes them. "
        "Does "
        "not cover other libraries' producers and consumers, nor attaching while another thread finalises.";
    t.carrier = schedule::Carrier::kThread;
    t.alphabet = dlpack::Capsule::Operations();
    t.twins = dlpack::Capsule::Twins();
    t.make = dlpack::Capsule::Make;
    t.warm_access_may_differ = true;
    return t;
  }();
  return target;
}

}  // namespace handoff
