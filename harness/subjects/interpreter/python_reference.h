// References to Python objects in native hands, and native objects whose wrapper belongs to one interpreter.
//
// An object here is a capsule: what matters is which interpreter made it, and that its destructor may run anything.
#pragma once

#include <atomic>

#include "harness/python/embed.h"
#include "harness/subjects/interpreter/python_entry.h"
#include "harness/subjects/interpreter/release_watch.h"

namespace handoff::interpreter {

struct PythonReference;

// What a capsule leads to; freed by its destructor.
struct PythonPayload {
  int interpreter;         // that made it; never changed
  PythonReference* inner;  // released in the destructor; owned; may be null; of the only one who holds the capsule
};

struct PythonReference {
  PyObject* object;                 // owns a reference
  PythonPayload* payload;           // the object's
  int interpreter;                  // where the native side believes the object to live
  int number;                       // the release watch's
  PythonReference* next = nullptr;  // of those that are left behind
};

// A native object as its wrapper's side sees it. Without a GIL the tag does not guard the slot: it says whose it is, and a lock
// keeps two threads of that interpreter apart.
struct TaggedNative {
  std::atomic<int> tag{-1};            // an interpreter; written once (T1)
  PyMutex lock{};                      // guards `wrapper`
  PythonReference* wrapper = nullptr;  // owned; null before the first and after the last
};

namespace python_reference {

// By a thread attached to `interpreter`. A new object and the only reference to it, which owns `inner`.
PythonReference* Make(int interpreter, PythonReference* inner);
// The native object's wrapper, a new reference; null if it belongs to the other interpreter, which is never shown it (T3).
PythonReference* Wrap(int interpreter, TaggedNative& native);
// The native object lets go of its wrapper; null if it has none. Any thread.
PythonReference* Unwrap(TaggedNative& native);

// Drops it, and says so to the watch. By a thread that is attached to the interpreter; fails otherwise.
void Drop(PythonReference* reference);
// Gives it up, with everything that it owns, and says so to the watch by `count`, which says why. Any thread, attached or not.
void GiveUp(PythonReference* reference, void (*count)(int handle) = release_watch::Leaked);
// It goes to Python code: the interpreter drops it, whenever it likes. Returns the object, the caller's. Attached.
PyObject* HandOver(PythonReference* reference);

// Drops what was given up, since this process goes on and would grow. Nobody else runs.
void Reclaim();
// Objects whose destructor has not run.
int Alive();

}  // namespace python_reference

}  // namespace handoff::interpreter
