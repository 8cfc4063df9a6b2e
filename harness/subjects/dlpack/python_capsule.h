// The capsule in which a managed tensor travels through Python, its destructor, and how a consumer takes the tensor out of it.
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/dlpack/handle.h"

namespace handoff::dlpack {

// A capsule that owns `tensor`, by a static name (R6), with a destructor that calls the deleter of a tensor that nobody took
// (R7).
PyObject* NewCapsule(DLManagedTensor* tensor);
PyObject* NewCapsule(DLManagedTensorVersioned* tensor);

// What stands for the capsule at scheduling points. The caller holds a reference.
const void* CapsuleToken(PyObject* capsule);
// Takes the tensor and renames the capsule (R8), also when several threads hold a reference to it: exactly one of them wins.
// `fails` as in Take. The caller holds a reference and is attached.
Taken TakeFromCapsule(PyObject* capsule, Step fails);

}  // namespace handoff::dlpack
