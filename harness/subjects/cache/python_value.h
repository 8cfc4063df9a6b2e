// What the caches inside CPython hold: objects that are counted, and nothing else.
//
// A library has a tuple there, of a signature and an implementation. Ours is an object of a type of its own, since CPython keeps
// freed tuples in a list for the next ones, where no sanitizer notices a use after free.
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/cache/block.h"

namespace handoff::cache::cpython {

// The part that dispatch tables know has the watch's number and the key that it was made for. Never changed.
// NOLINTNEXTLINE(misc-multiple-inheritance): two plain structs; C++ then knows the way from the part to the object
struct Value : PyObject, Implementation {};

// Made once, on the attached main thread, for the life of the process.
void MakeValueType();
// The types that are keys, in place of those of a call's arguments: real type objects. They are chosen so that the first three
// want the same bucket in tables of 4, 8 and 16, wherever the interpreter has put them.
void MakeKeys();
PyObject* KeyObject(int key);  // borrowed
Key KeyOf(const PyObject* object);
// The number of that key.
int KeyOfObject(const PyObject* object);

// Attached threads. A new reference.
Value* NewValue(int key);
// Judges an answer that a cache gives for `key`, as a caller would use it: it is alive (invariant 9) and was made for that key
// (invariant 2). Returns its number, 0 for null.
int Look(const Implementation* found, int key);

// Ends the run unless `done`: CPython could not do what only fails when memory is short.
void CheckMemory(bool done);

}  // namespace handoff::cache::cpython
