// Threads release references to objects of two interpreters of one free-threaded CPython, the main one and a subinterpreter, in
// every safe way of python_release.h: detached, attached, attached to the other one, with a native lock in the hand, on a thread
// that never had a state, while the exit gate closes, and after the interpreter's end.
//
// What `close` does is what an atexit callback does, with all threads running. The end itself needs a process of its own, a
// forked child with one thread: `finalize` keeps what threads do from then on for that child, which ends the interpreter (or the
// subinterpreter alone) and does it then, one operation after another. Threads that really race with Py_FinalizeEx are left to
// the model (reference_release.h): ThreadSanitizer starts no threads after a fork of a process that had several.
#pragma once

#include <memory>
#include <span>

#include "harness/subjects/subject.h"

namespace handoff::interpreter {

struct ReferenceReleasePython {
  // Operations, in the order of their codes: append only.
  static const Alphabet& Operations();
  static std::span<const Twin> Twins();
  // `twin` as in Target::make.
  static std::unique_ptr<Subject> Make(int twin);
};

}  // namespace handoff::interpreter
