// The thread states of controlled threads: made one after another, kept for the life of the process, attached inside operations.
#pragma once

#include <cstdint>

#include "harness/python/embed.h"

namespace handoff::python {

// Called by Initialize on the attached main thread: makes, uses and deletes one state. The first state after the interpreter's
// own makes CPython 3.13 immortalise what uses deferred counting; two first states at once are a race inside CPython, and one
// that is made late would do that work, with the world stopped, in the middle of a case.
void WarmUpThreadStates();

// On carrier `thread`, one carrier after another: makes its state and leaves it detached.
void MakeThreadState(int thread);

// On carrier `thread`. Between its operations it is detached, so that nobody waits for it (collections, forks, finalisation).
void Attach(int thread);
void Detach(int thread);

// On carrier `thread`, detached: lets the destructors run that wait for it (see RunBytecode).
// False if one of them left an exception behind.
bool Drain(int thread);

// The carriers for which CPython has something to do at their next bytecode, one bit each: what Drain is for. By the driver,
// while no operation runs.
std::uint32_t WaitingToDrain();

}  // namespace handoff::python
