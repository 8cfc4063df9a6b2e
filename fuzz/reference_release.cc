// Threads release references to an interpreter's objects while it ends and begins again. Does not cover a real interpreter.
#include "harness/subjects/interpreter/reference_release.h"
#include "harness/run/target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "reference_release";
    t.summary =
        "Releases references to interpreters' objects from threads that are attached, attached elsewhere, detached or hold a "
        "lock, in "
        "seven ways, while interpreters end and begin again. Does not cover a real interpreter: attaching and the GIL are a "
        "model.";
    t.carrier = schedule::Carrier::kFiber;
    t.alphabet = interpreter::ReferenceRelease::Operations();
    t.twins = interpreter::ReferenceRelease::Twins();
    t.make = interpreter::ReferenceRelease::Make;
    return t;
  }();
  return target;
}

}  // namespace handoff
