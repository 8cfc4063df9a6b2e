// The oracle for released references: each ends as exactly one of applied, pending and counted leak.
//
// Not instrumented. Handles have numbers from 1. Functions but Reset and Judge: any thread, at any time.
#pragma once

namespace handoff::interpreter::release_watch {

// Each operation makes two at most.
inline constexpr int kMaxHandles = 160;
inline constexpr int kMaxHosts = 2;

void Reset();

// A reference that belongs to `generation` of interpreter `host`; returns its number.
int HandleMade(int host, int generation);
// It is dropped now, attached. Fails if it was settled before, or if the interpreter has begun again since (rule S10): the object
// belongs to one that is gone.
void Applied(int handle, int generation);
// It lies in a queue, for somebody to drop it. Fails if it was settled before.
void Pending(int handle);
// It is given up, since its interpreter has ended, and counted. Fails if it was settled before, or if the interpreter lives: its
// exit gate is open, and was never closed since the reference was made (rule S8).
void Leaked(int handle);
// It is given up and counted whether the interpreter lives or not: what S8 is for, and nobody else. Fails if it was settled
// before.
void LeakedByDesign(int handle);

// Nobody may begin to attach for the sake of a release once the exit gate is closed, until it opens again (rule S5). It opens
// again for the next generation.
void GateClosed(int host);
void GateOpened(int host);
void AttachBegins(int host);

// At the end, when every handle was released and every interpreter that has not ended has drained its queues: none is unsettled
// or pending.
void Judge();

}  // namespace handoff::interpreter::release_watch
