// Threads release references to objects of two interpreters inside one free-threaded CPython, up to the end of either and beyond.
// Does not cover threads that race with Py_FinalizeEx itself.
#include "harness/subjects/interpreter/reference_release_python.h"
#include "harness/run/target.h"

namespace handoff {

const Target& TheTarget() {
  static const Target target = [] {
    Target t;
    t.name = "reference_release_python";
    t.summary =
        "Releases references to Python objects of the main interpreter and of a subinterpreter from threads that are attached, "
        "attached elsewhere, detached, new or hold a lock, by exit block, queue, pending call and leak, also after the "
        "interpreter's end. Does not cover threads that race with Py_FinalizeEx itself.";
    t.carrier = schedule::Carrier::kThread;
    t.alphabet = interpreter::ReferenceReleasePython::Operations();
    t.twins = interpreter::ReferenceReleasePython::Twins();
    t.make = interpreter::ReferenceReleasePython::Make;
    t.warm_access_may_differ = true;
    return t;
  }();
  return target;
}

}  // namespace handoff
