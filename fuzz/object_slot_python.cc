// Threads race for the Python wrapper of a native object and for who keeps whom alive, inside a free-threaded CPython. Does not
// cover several interpreters, nor threads that attach while another one finalises.
#include "harness/run/target.h"
#include "harness/subjects/interpreter/python_slot.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "object_slot_python";
    t.summary =
        "Wraps, unwraps, copies, drops and locks native objects with Python wrappers, by the count-driven slot, with weak "
        "references, lookups of wrappers, cycles, collections and late releases. Does not cover several interpreters, nor "
        "attaching while another thread finalises.";
    t.carrier = schedule::Carrier::kThread;
    t.alphabet = interpreter::PythonSlot::Operations();
    t.twins = interpreter::PythonSlot::Twins();
    t.make = interpreter::PythonSlot::Make;
    t.warm_access_may_differ = true;
    return t;
  }();
  return target;
}

}  // namespace handoff
