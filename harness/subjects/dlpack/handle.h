// A handle: what a DLPack capsule is, without Python. A name says whether the tensor inside was taken; threads race for it.
//
// The name doubles as the handle's lock-free state. The life of a slot:
//
//   (empty) --Publish--> "dltensor" or "dltensor_versioned" --Take--> "used_..." --DropHandle--> (empty)
//                                     \------------------DropHandle: deleter----------------------^
//
// with a short busy state in between, in which one thread alone may touch `tensor`. DLPack itself is silent on two consumers of
// one capsule and CPython leaves it to the caller (python/cpython#145563); here exactly one of them wins.
#pragma once

#include "harness/subjects/dlpack/managed_tensor.h"

namespace handoff::dlpack {

// The names of the specification (R6, R8). Compared by address: they are static and everybody uses these.
inline constexpr char kLegacyName[] = "dltensor";
inline constexpr char kVersionedName[] = "dltensor_versioned";
inline constexpr char kUsedLegacyName[] = "used_dltensor";
inline constexpr char kUsedVersionedName[] = "used_dltensor_versioned";

// Memory that outlives all its users, so that nobody needs to count references to the handle itself.
struct Handle {
  const char* name = nullptr;  // through std::atomic_ref only; null when empty
  void* tensor = nullptr;      // a managed tensor; owned by the handle under a fresh name, by its consumer under a used one
};

// What a consumer won: the fresh name, which tells the struct's kind, and the struct, which it owns now. Both null if somebody
// else was faster.
struct Taken {
  const char* name = nullptr;
  void* tensor = nullptr;
};

// Puts a tensor into an empty handle. Returns false, and leaves the tensor to the caller, if it is not empty.
bool Publish(Handle& handle, const char* name, void* tensor);
// Takes the tensor and renames the handle (R8). `fails` is where the consumer will fail.
Taken Take(Handle& handle, Step fails);
// The handle's destructor: calls the deleter of a tensor that nobody took (R7) and empties the handle.
void DropHandle(Handle& handle);

// The used name that belongs to a fresh one (R8).
const char* UsedName(const char* fresh);
// An array that owns what was taken, or null if nothing was, or if the consumer refuses it or fails (see Import).
Array* ImportTaken(const Taken& taken, Step fails);
// The way out of a handle whose tensor nobody took (R7). `name` tells the struct's kind.
void DeleteUntaken(const char* name, void* tensor);

}  // namespace handoff::dlpack
