// How this process ends when something is found: one path for every kind of end, on whichever thread.
//
// Sanitizer reports, oracles, the scheduler's own findings, fatal signals, exit() in an operation, time-outs and interruption all
// come to End. It runs on the failing thread, in the middle of anything (a signal handler, TSan's report hook with its locks
// held), so it allocates nothing, takes no lock, calls nothing that a sanitizer intercepts, and never returns. Compiled without
// sanitizers, coverage and weak symbols.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/run/exchange.h"

namespace handoff {

// Exit codes of target binaries; the first is also the sanitizers' `exitcode`. The others are libFuzzer's own.
inline constexpr int kExitFinding = 77;
inline constexpr int kExitTimeout = 70;
inline constexpr int kExitInterrupted = 72;
inline constexpr int kExitUsage = 1;

enum class Role : std::uint8_t {
  kAlone,      // no cold parent: End prints what it knows, writes the case as unconfirmed and exits
  kWarm,       // the fuzzing process: End asks the cold parent
  kColdChild,  // End leaves the observation in the exchange and exits
};

// Seconds that a failing thread waits for the cold parent before it writes the case by itself: more than the cold parent allows
// itself (confirm.h), so that it is reached only when something is broken.
inline constexpr int kAnswerSeconds = 50;
// Seconds that a sanitizer may take to print its report of a fatal signal; it may hang on a lock that the signal interrupted.
inline constexpr int kReportSeconds = 10;

struct EndsPlace {
  Role role = Role::kAlone;
  Exchange* exchange = nullptr;  // borrowed, for the rest of the process
  int socket = -1;               // to the cold parent; kWarm only
  int report_file = -1;          // where sanitizers print, or -1: standard error
  int alive = -1;                // of a cold child: open as long as it lives; what an operation forks closes it
  int timeout_seconds = 25;      // for one execution; 0: no limit
  int answer_seconds = kAnswerSeconds;
};

// Tells End what this process is, routes the sanitizers' reports to `report_file`, and sets every handler but those for signals.
// Main thread, at start and again in a fork.
void PrepareEnds(const EndsPlace& place);

// Installs the signal handlers and the watchdog's timer, by raw system calls: TSan's sigaction would delay signals until the next
// intercepted call, which a parked thread never makes. libFuzzer installs its own after LLVMFuzzerInitialize, so call it again
// at the first execution. Main thread.
void InstallSignals();
// The opposite for a cold parent: interruption is its child's or the fuzzing process's affair. Not by SIG_IGN, which what an
// operation executes would inherit.
void IgnoreInterruption();
// In a process that an operation has forked: what it is sent, and its own abort, are for it. Faults are still reported.
void GiveSignalsBack();

// The case in flight, copied into the exchange; `size` is cut at kMaxCaseBytes. Around each execution, driver thread.
void BeginExecution(const std::uint8_t* bytes, std::size_t size);
void EndExecution();

// Writes what the scheduler has recorded of the current or last run into `to`, and `end` last.
void Observe(EndKind end, const char* kind, const char* rule, const char* detail, Observation* to);

// Leaves without running any handler.
[[noreturn]] void LeaveAtOnce(int code);

// Any thread. Strings are copied; null counts as "". If another thread is ending the process already, waits for ever.
[[noreturn]] void End(EndKind end, const char* kind, const char* rule, const char* detail);
// The finding that equal cases ran differently.
[[noreturn]] void EndNondeterministic();

}  // namespace handoff
