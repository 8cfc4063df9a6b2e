// Finalisation in a child process: the only way to see what happens afterwards without ending the fuzzer.
#pragma once

#include "harness/python/embed.h"

namespace handoff::python {

enum class AfterFinalization {
  kClean,    // `after` returned
  kCrashed,  // it ended by a signal or an exit code of its own
  kBlocked,  // it was found asleep for kBlockedSeconds, or computed for kFinalizationSeconds
};

// Limits of the watchdog for a child that hangs, as CPython 3.14 does for a thread that attaches too late. A child that is well
// needs hundredths of a second; on a machine that is busy with other things it waits for a processor, which is no sleep.
inline constexpr double kBlockedSeconds = 3;
inline constexpr double kFinalizationSeconds = 20;

// Forks; in the child calls `before(context)` attached, unless null, finalises the interpreter, and calls `after(context)`. The
// child's one thread has no thread state then, like a foreign thread that outlives the interpreter; it cannot start real ones,
// since ThreadSanitizer refuses new threads after the fork of a process that had several. Called on the detached main thread
// while no controlled thread runs. What an oracle says in the child (oracle::Fail) is said again here.
AfterFinalization FinalizeInChild(void (*before)(void* context), void (*after)(void* context), void* context);

// Fails (oracle kind "after-finalization") unless the child was clean. `rule` and `late`, what ran late, are literals.
void JudgeAfterFinalization(AfterFinalization how, const char* rule, const char* late);

}  // namespace handoff::python
