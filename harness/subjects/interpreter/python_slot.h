// The count-driven slot inside a free-threaded CPython, on threads: wrappers are Python objects, shared by Python code and by
// native code that holds no thread state; weak references on both sides, lookups as in a map of wrappers, cycles, collections,
// and native objects that outlive the interpreter, with all that is done to them afterwards. Which designs are not here, and why,
// is written in object_slot.h.
#pragma once

#include <memory>
#include <span>

#include "harness/subjects/subject.h"

namespace handoff::interpreter {

struct PythonSlot {
  // Operations, in the order of their codes: append only.
  static const Alphabet& Operations();
  static std::span<const Twin> Twins();
  // `twin` as in Target::make.
  static std::unique_ptr<Subject> Make(int twin);
};

}  // namespace handoff::interpreter
