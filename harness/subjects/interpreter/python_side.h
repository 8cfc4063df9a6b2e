// The count-driven slot's side in CPython: wrappers are Python objects with weak references and a place in the collector's graph.
//
// Beyond what the model knows: a reference that is dropped by a thread which does not own the object may end it later, on the
// owner's thread; a wrapper may be part of a cycle that only a collection ends; and the interpreter may end before native objects
// do.
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/interpreter/count_slot.h"

namespace handoff::interpreter {

struct PythonNative : CountNative {
  using CountNative::CountNative;
  PyMutex pin{};
  PyObject* weak = nullptr;  // to the wrapper in the slot; guarded by `pin`; owns a reference
};

class PythonSide final : public Side {
 public:
  // Makes the wrappers' type, for the life of the process. On the attached main thread, once.
  static void MakeType();

  bool Enter(int thread, Before& before) override;
  void Leave(int thread, const Before& before) override;
  void* NewWrapper(int thread, CountNative* native) override;
  void Incref(int thread, void* wrapper) override;
  void Decref(int thread, void* wrapper) override;
  void Published(int thread, CountNative& native, void* wrapper) override;
  bool TryTake(int thread, CountNative& native) override;
  int Number(const void* wrapper) const override;
  void Free(CountNative* native) override;
};

// Attached, holding any reference to the native object: looks its wrapper up, as in a map from native objects to wrappers of
// which it is the one entry, with the lock of its shard. A new reference; null if there is no wrapper, or if it is going. (The
// maps of nanobind and pybind11, wjakob/nanobind#865 and pybind/pybind11#5494; this text is ours.)
PyObject* LookUp(CountNative& native);

// Attached threads. The native object of a wrapper, borrowed.
CountNative* NativeOf(PyObject* wrapper);
// Makes the wrapper part of a cycle, unless it is: only a collection ends it from then on.
void MakeCycle(PyObject* wrapper);

}  // namespace handoff::interpreter
