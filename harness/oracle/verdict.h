// How an oracle says that something is wrong.
//
// Compiled without sanitizers and weak symbols: oracles watch the subject from outside, so nothing they do may be an access that
// ThreadSanitizer orders or reports, or a scheduling point.
#pragma once

namespace handoff::oracle {

// A failed judgement. Strings are borrowed until the handler returns control to nobody: it ends the process.
struct Verdict {
  const char* kind;  // stable, in the signature: "double-delete", "missing-delete", "wrong-value", "protocol", "linearizability"
  const char* rule;  // "R3" of the protocol, an invariant's number, or ""
  const char* detail;  // a few sentences with small ids, never an address; not in the signature
};

using VerdictHandler = void (*)(const Verdict& verdict);

// Who ends the process. Set once at start by harness/run; without one, Fail prints the verdict and aborts (unit tests).
void SetVerdictHandler(VerdictHandler handler);

// Reports and does not return. Any thread: controlled ones in the middle of an operation, or the driver. `format` as in printf,
// for the detail, which is cut at 2,000 characters.
[[noreturn]] void Fail(const char* kind, const char* rule, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace handoff::oracle
