// Memory that the fuzzing process, its cold parent and the cold parent's children share: what a failing thread leaves behind for
// those who can still allocate, format and fork.
//
// Plain data only: the writer may be a signal handler or a sanitizer's report hook. Mapped shared before the first fork, one
// writer at a time (the fuzzing process or its failing thread writes `warm`, a child of the cold parent writes `cold`), and read
// after a message over a socket or the writer's death.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/schedule/record.h"

namespace handoff {

// How an execution ended.
enum class EndKind : std::uint32_t {
  kNone,     // not yet; of a child that is gone: it left without a word (_exit, SIGKILL)
  kClean,    // all operations ended and every judgement passed
  kFinding,  // a failed judgement
  kTimeout,
  kInterrupted,
};

// Longest encoded case: 64 operations and 4,096 switches take 41,352 bytes (harness/case/binary.h).
inline constexpr std::size_t kMaxCaseBytes = std::size_t{48} * 1024;
inline constexpr std::size_t kMaxPath = 4096;

// What one execution left behind. Strings end in a zero byte.
struct Observation {
  EndKind end;
  char kind[64];        // as in Finding::kind
  char rule[32];        // as in Finding::rule
  char detail[2048];    // as in Finding::detail
  std::int32_t thread;  // the controlled thread that noticed, or -1: the driver
  Position at;          // where it stood
  // Copied from schedule::Record.
  std::uint64_t hash;
  std::uint64_t decisions;
  std::uint64_t accesses;
  std::uint32_t switch_count;
  std::uint32_t switches_lost;
  std::uint32_t step_count;  // kept ones, oldest first
  std::uint32_t steps_lost;  // behind the first schedule::kFirstSteps of them
  schedule::Profile profile;
  Switch switches[kMaxSwitches];
  schedule::Step steps[schedule::kMaxSteps];  // `what` is null here; see below
  char whats[schedule::kMaxSteps]
            [32];  // Step::what by value: a literal of a module that only the writer has loaded is gone with it
  schedule::CodePlace places[schedule::kMaxSteps];  // of the steps; counts are zero where nothing is known
  std::uint32_t stack_count;
  schedule::Stack stacks[schedule::kMaxStacks];  // what the scheduler noted; of a time-out, where the holder of the baton is
};

// What the cold parent says about a request; kNone when it has written nothing.
enum class Answer : std::uint32_t { kNone, kConfirmed, kUnconfirmed };

// A file that the cold parent has written. The path points into the exchange.
struct Kept {
  Answer answer;
  const char* path;
};

struct Exchange {
  // The case in flight, in binary form (or as the fuzzer gave it, when that is the same); empty when none is.
  std::uint32_t in_flight;
  std::uint32_t case_size;
  std::uint8_t case_bytes[kMaxCaseBytes];
  Observation warm;
  Observation cold;
  // What the cold parent has written so far, smaller and smaller, for a process that is interrupted before it gets its answer: an
  // Answer, and which of the two paths names the file. The other one is free for the next file's, so that nobody reads half of
  // one.
  std::uint32_t kept;
  std::uint32_t leaving;  // 1 from before the fuzzing process reads `kept` for the last time: what it then names must stay
  char paths[2][kMaxPath];
};

// A zeroed block, shared with all later forks; null where the system refuses. Never unmapped.
Exchange* NewExchange();

// What the cold parent has kept. Any process and thread; safe in signal handlers.
Kept ReadKept(const Exchange& exchange);
// The same, and the last thing that the fuzzing process asks: from here on nothing that it may have read goes.
Kept ReadKeptAndLeave(Exchange& exchange);
// Keeps a file instead of the one before. The cold parent only, which removes that one afterwards unless somebody leaves, and
// keeps no other once somebody does.
void Keep(Exchange& exchange, Answer answer, const char* path);
bool IsLeaving(const Exchange& exchange);

// Messages over the socket between the fuzzing process and its cold parent, a byte each.
inline constexpr char kRequest = 'r';
inline constexpr char kAnswered = 'a';

}  // namespace handoff
