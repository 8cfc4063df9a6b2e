// The Python type `handoff.Array`: a producer with `__dlpack__`, and what a Python consumer makes of an imported tensor.
//
// Every function needs an attached thread state, but for the deleters of what the type exports: those attach by themselves.
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/dlpack/managed_tensor.h"

namespace handoff::dlpack {

// Once, on the main thread, before any other function.
void MakePythonTypes();

// The same in the subinterpreter, while attached to it.
void MakeSubinterpreterTypes();
// A new Python array around `array`, whose reference it takes over. Its exports are of
// this kind, unless a consumer asks for something else.
PyObject* NewPythonArray(Array* array, Kind kind);
// The array inside; borrowed, as long as the caller holds `object`.
Array* NativeArray(PyObject* object);
// Whether the producer is of a time when `__dlpack__` had keywords (R25).
bool KnowsKeywords(PyObject* object);
// What `object` exports to a consumer that takes a versioned struct.
DLManagedTensorVersioned* ExportVersionedFromPython(PyObject* object);
// What a new array of the subinterpreter exports, whose reference it takes over: the deleter has to drop an owner over there.
// Null if there is no subinterpreter. Attached to the main one.
DLManagedTensorVersioned* ExportFromSubinterpreter(Array* array);
// What stands for the object at scheduling points. The caller holds it.
const void* TokenOf(PyObject* object);
// Calls `object.__dlpack__` as a consumer does that knows versions and asks again without keywords if there is none of those
// (R25), or, for kLegacy, as one that knows none itself, and returns the capsule, or null if the producer has refused (the
// exception is cleared). Judges the consumer on the way.
PyObject* CallDlpack(PyObject* object);
// Does the same with an object that cannot export anything: the consumer must let the AttributeError pass (R28).
void CallMissingDlpack();

}  // namespace handoff::dlpack
