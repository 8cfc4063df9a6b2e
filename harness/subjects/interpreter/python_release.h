// The ways of release.h in CPython: a reference is dropped by a thread that may hold no thread state, or one of another
// interpreter.
//
// Safe here: S5 exit block, S6 queue, S7 pending call, S8 leak, and S11 and S12, which say when (reference_release_python.h). S1
// to S4 and S9 are twins. S10 needs CPython 3.15, whose PyThreadState_EnsureFromView (PEP 788) takes the place of gate and
// attaching. The one before 3.15 that closes the gap between test and attaching is S5: the gate closes in an atexit callback,
// when both of CPython's own flags still say that all is well, and whoever got through is waited for. (Our text; sources as in
// release.h.)
#pragma once

#include "harness/subjects/interpreter/python_reference.h"

namespace handoff::interpreter::python_release {

// Once per process and interpreter, attached to it: asks for Close at its end. (The Python module atexit, not
// PyUnstable_AtExit, whose callbacks CPython 3.13 runs when the interpreter is already being taken apart.)
void CloseAtExit(int interpreter);
// Before each execution; nobody else runs. After ForgetEntries.
void Open();

// Each takes over the reference. Any thread, attached anywhere or detached, holding no lock but as release.h says.
void ByExitBlock(int thread, PythonReference* reference);
void ByQueue(int thread, PythonReference* reference);
// The main interpreter only, on whose main thread the call runs; for an object of another one it is the queue alone.
void ByPendingCall(int thread, PythonReference* reference);
void ByLeak(int thread, PythonReference* reference);

// Whether anything lies in the queue. Any thread.
bool HasQueued(int thread, int interpreter);
// Drops what does. Attached to the interpreter.
void Drain(int thread, int interpreter);
// What an atexit callback does: closes the gate, waits for those who are behind it, drains and closes the queue. Attached to the
// interpreter, detached meanwhile; does nothing the second time.
void Close(int thread, int interpreter);
// Makes CPython's table of pending calls as full as it gets, by calls that do nothing. Any thread.
void FillPendingCalls();

}  // namespace handoff::interpreter::python_release
