#include "harness/run/ends.h"

#include <poll.h>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "harness/oracle/verdict.h"
#include "harness/run/artifact.h"
#include "harness/run/ends_state.h"
#include "harness/schedule/raw_syscall.h"
#include "harness/schedule/scheduler.h"

namespace handoff {

EndsState ends;

namespace {

using schedule::RawSyscall;
using schedule::Word;

[[noreturn]] void WaitForEver() {
  for (;;) RawSyscall(SYS_ppoll, 0, 0, 0, 0, 0);
}

// Makes the calling thread the one that ends the process. A second thread stops here; the same thread again, in the middle of
// its own End (a fault in a handler, say), has no other way out than at once.
void Claim() {
  const long me = ThreadId();
  long nobody = 0;
  // Relaxed: nothing is handed over, the loser only stops.
  if (__atomic_compare_exchange_n(&ends.ending, &nobody, me, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  if (nobody == me) EndAtOnce("unconfirmed", kExitFinding);
  WaitForEver();
}

// Whether there has been an execution: the case of the last one is in the exchange.
bool HasCase() { return ends.place.exchange != nullptr && ends.place.exchange->case_size > 0; }

void PrintEnd(const char* kind, const char* rule, const char* detail) {
  WriteText("handoff: ");
  WriteText(kind);
  if (rule[0] != '\0') WriteText(" against ");
  WriteText(rule);
  if (detail[0] != '\0') WriteText(": ");
  WriteText(detail);
  WriteText("\n");
}

// Until the cold parent has answered, is gone, or is late. What it writes in the meantime goes to standard error.
void AwaitAnswer() {
  const long until = Now() + ends.place.answer_seconds;
  for (;;) {
    pollfd ready = {.fd = ends.place.socket, .events = POLLIN, .revents = 0};
    timespec wait = {.tv_sec = 1, .tv_nsec = 0};
    const long n = RawSyscall(SYS_ppoll, Word(&ready), 1, Word(&wait), 0, 0);
    if (n == 1) {
      return;
    }
    if ((n < 0 && n != -EINTR) || Now() >= until) return;
  }
}

// What becomes of it is kept in the exchange.
void AskColdParent() {
  const char message = kRequest;
  // MSG_NOSIGNAL instead of a plain write: with the cold parent gone, SIGPIPE would end us before the case is written.
  if (RawSyscall(SYS_sendto, ends.place.socket, Word(&message), 1, 0x4000, 0, 0) == 1) AwaitAnswer();
}

// libFuzzer's and ClusterFuzz's phrase for a file that fails again; the others must not be taken for one.
constexpr const char* kWritten = "Test unit written to ";
constexpr const char* kWrittenUnconfirmed = "Unconfirmed unit written to ";

void PrintPath(const char* phrase, const char* path) {
  WriteText(phrase);
  WriteText(path);
  WriteText("\n");
}
const char* PhraseOf(int code) {
  if (code == kExitTimeout) return kWritten;
  return code == kExitInterrupted ? "Interrupted unit written to " : kWrittenUnconfirmed;
}
int CodeOf(EndKind end) {
  if (end == EndKind::kTimeout) return kExitTimeout;
  return end == EndKind::kInterrupted ? kExitInterrupted : kExitFinding;
}
const char* FileOf(EndKind end) {
  if (end == EndKind::kTimeout) return "timeout";
  return end == EndKind::kInterrupted ? "interrupted" : "unconfirmed";
}

[[noreturn]] void EndWarm(EndKind end) {
  if (end == EndKind::kFinding) WriteText("handoff: something failed: it is tried again in fresh processes, then made smaller\n");
  AskColdParent();
  EndAtOnce(FileOf(end), CodeOf(end));
}

void HandleVerdict(const oracle::Verdict& verdict) {
  schedule::KeepOwnStack();
  End(EndKind::kFinding, verdict.kind, verdict.rule, verdict.detail);
}

void HandleFailure(schedule::FailureKind kind, const char* text) {
  const char* name = "harness";
  if (kind == schedule::FailureKind::kDeadlock) name = "deadlock";
  if (kind == schedule::FailureKind::kLivelock) name = "livelock";
  End(EndKind::kFinding, name, "", text);
}

// exit() in an operation. Registered after libFuzzer's own handler, hence called before it.
void HandleExit(int status, void*) {
  if (ends.running && RawSyscall(SYS_getpid) != ends.process) LeaveForked(status);
  if (ends.running) End(EndKind::kFinding, "exit", "", "exit() was called in the middle of an execution");
}

void ObserveRecord(Observation* to) {
  const schedule::Record& record = schedule::CurrentRecord();
  to->hash = record.hash;
  to->decisions = record.decisions;
  to->accesses = record.accesses;
  to->switches_lost = record.switches_lost ? 1 : 0;
  to->switch_count = static_cast<std::uint32_t>(record.switch_count);
  CopyRaw(&to->profile, &record.profile, sizeof to->profile);
  CopyRaw(to->switches, record.switches, record.switch_count * sizeof(Switch));
  const std::size_t kept = record.step_count - record.steps_lost;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t slot = schedule::StepSlot(i < schedule::kFirstSteps ? i : i + record.steps_lost);
    const schedule::Step& step = record.steps[slot];
    CopyRaw(&to->steps[i], &step, sizeof step);
    to->steps[i].what = nullptr;
    CopyText(to->whats[i], sizeof to->whats[i], step.what);
    to->places[i].count = 0;
    const schedule::CodePlace& place = record.places[slot];
    if (place.count != 0) CopyRaw(&to->places[i], &place, sizeof place);
  }
  to->step_count = static_cast<std::uint32_t>(kept);
  to->steps_lost = static_cast<std::uint32_t>(record.steps_lost);
  if (record.stack_count == 0) return;  // a time-out brings its own
  CopyRaw(to->stacks, record.stacks, record.stack_count * sizeof(schedule::Stack));
  to->stack_count = static_cast<std::uint32_t>(record.stack_count);
}

}  // namespace

void LeaveAtOnce(int code) {
  for (;;) RawSyscall(SYS_exit_group, code);
}

long ThreadId() { return RawSyscall(SYS_gettid); }

long Now() {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, CLOCK_MONOTONIC, Word(&now));
  return now.tv_sec;
}

void PrepareEnds(const EndsPlace& place) {
  ends.place = place;
  ends.process = RawSyscall(SYS_getpid);
  ends.ending = 0;
  ends.ending_since = 0;
  ends.report_since = 0;
  ends.report_kind = nullptr;
  oracle::SetVerdictHandler(HandleVerdict);
  schedule::SetFailureHandler(HandleFailure);
  SetSanitizerHooks(place.report_file);
  WatchForks();
  on_exit(HandleExit, nullptr);  // each time: the last one registered runs first, and libFuzzer registers its own in between
}

void BeginExecution(const std::uint8_t* bytes, std::size_t size) {
  ends.running = true;
  ++ends.executions;
  Exchange* exchange = ends.place.exchange;
  if (exchange == nullptr || ends.place.role == Role::kColdChild) return;
  if (size > kMaxCaseBytes) size = kMaxCaseBytes;
  CopyRaw(exchange->case_bytes, bytes, size);
  exchange->case_size = static_cast<std::uint32_t>(size);
  exchange->in_flight = 1;
}
void EndExecution() {
  ends.running = false;
  if (ends.place.exchange != nullptr && ends.place.role != Role::kColdChild) ends.place.exchange->in_flight = 0;
}

void Observe(EndKind end, const char* kind, const char* rule, const char* detail, Observation* to) {
  CopyText(to->kind, sizeof to->kind, kind);
  CopyText(to->rule, sizeof to->rule, rule);
  CopyText(to->detail, sizeof to->detail, detail);
  to->thread = schedule::Self();
  to->at = to->thread >= 0 ? schedule::Where(to->thread) : Position{};
  ObserveRecord(to);
  asm volatile("" ::: "memory");  // `end` last, and not before: a writer that faults on the way leaves kNone
  to->end = end;
}

void EndAtOnce(const char* file_name, int code) {
  static char path[kMaxPath];
  Exchange* exchange = ends.place.exchange;
  if (ends.place.role == Role::kColdChild) LeaveAtOnce(code);
  const Kept kept = exchange != nullptr ? ReadKeptAndLeave(*exchange) : Kept{};
  if (kept.answer != Answer::kNone) {
    PrintPath(kept.answer == Answer::kConfirmed ? kWritten : kWrittenUnconfirmed, kept.path);
    LeaveAtOnce(code);
  }
  if (ends.place.report_file >= 0) CopyOut(ends.place.report_file);
  if (exchange != nullptr && exchange->case_size > 0 && (ends.running || code != kExitInterrupted)) {
    if (WriteArtifact(file_name, exchange->case_bytes, exchange->case_size, path)) PrintPath(PhraseOf(code), path);
  }
  LeaveAtOnce(code);
}

void End(EndKind end, const char* kind, const char* rule, const char* detail) {
  // A subject's own fork: its parent sees how it ends.
  if (RawSyscall(SYS_getpid) != ends.process) LeaveAtOnce(CodeOf(end));
  Claim();
  ends.ending_since = Now();
  if (kind == nullptr) kind = "";
  if (rule == nullptr) rule = "";
  if (detail == nullptr) detail = "";
  if (ends.place.exchange == nullptr) {
    PrintEnd(kind, rule, detail);
    EndAtOnce(FileOf(end), CodeOf(end));
  }
  if (ends.place.role == Role::kColdChild) {
    Observe(end, kind, rule, detail, &ends.place.exchange->cold);
    LeaveAtOnce(CodeOf(end));
  }
  if (end == EndKind::kInterrupted) {
    WriteText(ends.running ? "handoff: interrupted in the middle of an execution\n" : "handoff: interrupted\n");
    ends.place.exchange->in_flight = 0;  // the cold parent need not find out whether we were killed
    EndAtOnce(FileOf(end), CodeOf(end));
  }
  Observe(end, kind, rule, detail, &ends.place.exchange->warm);
  // Between executions too: memory that the last one has broken may be noticed by whoever uses it next, libFuzzer for one.
  if (ends.place.role == Role::kWarm && HasCase()) EndWarm(end);
  PrintEnd(kind, rule, detail);
  // Before the first execution it is no finding: libFuzzer throws at a flag that it cannot read, for one.
  EndAtOnce(FileOf(end), ends.executions > 0 ? CodeOf(end) : kExitUsage);
}

void EndNondeterministic() {
  End(EndKind::kFinding, "nondeterministic", "",
      "expected the same case to take the same decisions each time, found different ones: reset in Begin whatever an operation "
      "changes, and take no decision from addresses, time or random numbers");
}

}  // namespace handoff
