// The C exchange API of DLPack 1.2 and newer (`__dlpack_c_exchange_api__`): exchange between Python objects without capsules.
//
// Every function needs an attached thread state. With an older header the attribute is not there, and the consumer's side does
// nothing.
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/dlpack/managed_tensor.h"

namespace handoff::dlpack {

// --- The producer's side ---

// Adds the attribute to a type (R33). With `newer`, the struct found there has a foreign major version, and ours comes behind it.
void PublishExchangeApi(PyTypeObject* type, bool newer);

// --- The consumer's side, judged on the way (R33 to R40) ---

// A native array of what `object` exports, or null if it was refused. The caller holds `object`.
Array* ImportByApi(PyObject* object);
// A new Python object that owns an export of `array`, or null if the producer refused it.
PyObject* WrapByApi(PyObject* like, Array* array, Kind kind);
// Reads `object` through a view that nobody owns. Takes over the caller's reference, and drops it behind the last read.
void BorrowByApi(PyObject* object);
// A native array in memory of the producer's, or null if it refused, as it must for a device `elsewhere`.
Array* AllocateByApi(PyObject* like, bool elsewhere);

}  // namespace handoff::dlpack
