// A free-threaded CPython inside this process: isolated, reproducible, without the user's environment.
//
// This folder is the only one that includes Python.h; subjects include it through here.
#pragma once

#include <Python.h>

namespace handoff::python {

// Starts the interpreter on the main thread, which must be the process's only one, and leaves it detached (nobody holds a thread
// state). Makes no second thread either, so that the process may still fork. The standard library is looked for in the folder
// `python` beside the binary `argv0`, so that both can be moved together, else where it was at build time. Ends the process with
// exit code 1 and a sentence if that fails.
void Initialize(const char* argv0);

// Attaches and detaches the thread that called Initialize; its state has lived since then. In a forked child: the forking thread.
void AttachMain();
void DetachMain();

// Fails (oracle kind "harness") if something has switched the GIL on, for instance an extension module that does not declare that
// it can run without. Call attached, at the start and at the end of an execution.
void CheckGilIsOff();

// Runs a little bytecode on the calling, attached thread. CPython merges the counts of objects that this thread owns and others
// have let go of only there (the eval breaker), so their destructors wait for it.
void RunBytecode();

// The same by a function that does nothing, made once (a new reference, by an attached thread) and called many times.
PyObject* MakeSmallFunction();
// False if an exception came out of it, which a destructor that ran on the way left there; it is cleared.
bool RunSmallFunction(PyObject* function);

// A full collection, with the world stopped, by an attached thread. (PyGC_Collect does nothing while automatic collections are
// off.)
void Collect();

// Drops a reference, which may run any destructor. Fails (oracle kind "no-thread-state", rule R11) if no thread state is
// attached: without a GIL the call would seem to work, until it meets another thread.
void Release(PyObject* object);

// Around fork() by the detached main thread of a process without other attached threads: PyOS_BeforeFork and its companions.
void BeforeFork();
void AfterForkParent();
void AfterForkChild();

}  // namespace handoff::python
