// A second interpreter in this process, for objects whose owner is not the main one.
#pragma once

#include "harness/python/embed.h"

namespace handoff::python {

// Makes the process's one subinterpreter, unless it is there, and runs `setup` in it. On the attached main thread, before there
// are others: a new interpreter writes to static types that running threads read. Afterwards the process may not fork by
// BeforeFork: CPython 3.13 dies when it deletes subinterpreters in the child.
void MakeSubinterpreter(void (*setup)());
// Ends it, if there is one, with every state that UseSubinterpreterState made. On the attached main thread, while no other thread
// is attached to it.
void EndSubinterpreter();

// Once, on a thread that lives as long as the process, detached; the main thread or a carrier, one after another:
// RunInSubinterpreter attaches one state there from now on, as the thread does in the main interpreter, instead of making one for
// each call. Making one is dear: what is left of its heap when it goes is looked through whenever another one goes. Does nothing
// without a subinterpreter.
void UseSubinterpreterState();

// Runs `work(context)` with a thread state of the subinterpreter attached, made for this and deleted behind it unless the thread
// has one, and leaves the thread as it was. False, and nothing is run, if there is no subinterpreter any more. Any thread:
// attached elsewhere, detached, or without any state. PyGILState_Ensure would not do: it knows the main interpreter only
// (python/cpython#59956).
bool RunInSubinterpreter(void (*work)(void* context), void* context);

// Fails (oracle kind "wrong-interpreter", rule R11) unless the attached thread state belongs to the subinterpreter, or not, as
// `expected`.
void CheckInterpreter(bool expected_sub);

}  // namespace handoff::python
