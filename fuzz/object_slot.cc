// Threads race for the wrapper of a native object and for who keeps whom alive. Does not cover a real interpreter.
#include "harness/subjects/interpreter/object_slot.h"
#include "harness/run/target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "object_slot";
    t.summary =
        "Wraps, unwraps, copies, drops and locks native objects that an interpreter's wrappers belong to: interpreter tag with a "
        "flip of ownership, count-driven slot, tied word, allocations that collect, memory that is used again. Does not cover a "
        "real interpreter: attaching, references and the GIL are a "
        "model.";
    t.carrier = schedule::Carrier::kFiber;
    t.alphabet = interpreter::ObjectSlot::Operations();
    t.twins = interpreter::ObjectSlot::Twins();
    t.make = interpreter::ObjectSlot::Make;
    return t;
  }();
  return target;
}

}  // namespace handoff
