// A case: the operations of each thread and the schedule they run under, as plain data.
//
// Nothing here takes a decision. The scheduler reads a case through a Plan (harness/schedule/plan.h); the codecs (binary.h,
// text.h) turn it into bytes and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace handoff {

// Threads of a program. Eight are enough for every bug we know of (most need two), and keep a thread set in one word.
inline constexpr int kMaxThreads = 8;
// Threads of one execution: those of the program and those that they create, which are numbered behind them. A schedule names
// any.
inline constexpr int kMaxScheduled = 16;
// Threads of a case that does not say how many.
inline constexpr int kDefaultThreads = 2;
// Operations of one case, all threads together: TSan remembers about four accesses a cell, so short executions lose the fewest
// races.
inline constexpr int kMaxOperations = 64;
// Arguments of one operation, a byte each.
inline constexpr int kMaxArguments = 4;
// Schedule bytes or switches beyond these are cut off by the decoders.
inline constexpr std::size_t kMaxScheduleBytes = 1024;
inline constexpr std::size_t kMaxSwitches = 4096;

// Who decides at a point. The values are stored in binary cases: append only.
enum class Strategy : std::uint8_t { kBytes, kRandom, kPct, kPos, kSurw, kListed, kFree };
inline constexpr int kStrategies = 7;

// The finest points at which a switch may happen. The values are stored in binary cases: append only.
enum class Granularity : std::uint8_t { kOp, kSync, kAccess };
inline constexpr int kGranularities = 3;

// Names as they are written in text cases and on command lines, indexed by the enum's value.
inline constexpr std::array<std::string_view, kStrategies> kStrategyNames = {"bytes", "random", "pct", "pos",
                                                                             "surw",  "listed", "free"};
inline constexpr std::array<std::string_view, kGranularities> kGranularityNames = {"op", "sync", "access"};

// One step of one thread. `code` indexes the subject's Alphabet; an argument the operation does not have is zero.
struct Operation {
  std::uint8_t code = 0;
  std::array<std::uint8_t, kMaxArguments> arguments{};
  bool operator==(const Operation&) const = default;
};

// Where a thread stands: in its `operation` (from 0), behind `sync` points since that operation began (each wait counts as one),
// and after `access` instrumented accesses since then. Free of addresses, so that it outlives a compiler at `op` and `sync`.
struct Position {
  std::uint16_t operation = 0;
  std::uint16_t sync = 0;
  std::uint32_t access = 0;
  bool operator==(const Position&) const = default;
};

// One decision that differs from the default (go on; where that cannot be, the first thread that can run): when `thread` stands
// at `at`, `to` runs next. Thread numbers are 0 for A, 1 for B, ...; created threads have those behind the program's.
struct Switch {
  std::uint8_t thread = 0;
  std::uint8_t to = 0;
  Position at{};
  bool operator==(const Switch&) const = default;
};
// `thread` of the decision taken at the gate, before anyone runs; its `at` is zero.
inline constexpr std::uint8_t kGate = 0xff;

// Program, schedule, strategy and granularity: what a crash file holds. It never says which twin or sanitizer.
struct Case {
  Strategy strategy = Strategy::kBytes;
  Granularity granularity = Granularity::kAccess;
  // random: a switch happens with probability parameter/256 at a point (0 means the default, 51, which is 0.2; at `access` it
  // sets the distances, up to 2^16 / parameter, too). pct: the depth d, modulo 8 (0 means the default, 3). Others: ignored.
  std::uint8_t parameter = 0;
  std::vector<std::vector<Operation>> threads{};  // 1 to kMaxThreads, together at most kMaxOperations
  std::vector<std::uint8_t> bytes{};              // strategies but `listed`: choices first, then the seed of the tail
  std::vector<Switch> switches{};                 // strategy `listed` only
  bool operator==(const Case&) const = default;
};

// An operation's argument: its name in text cases and how many values it takes (1 to 256); decoders reduce modulo that number.
// With `value_names`, a value is written by name instead of as a number, and there are as many values as names.
struct Argument {
  std::string_view name;
  int values = 256;
  std::span<const std::string_view> value_names{};
};

// How many values the argument takes.
constexpr int ValueCount(const Argument& argument) {
  return argument.value_names.empty() ? argument.values : static_cast<int>(argument.value_names.size());
}

// An operation's name in text cases and its arguments.
struct OperationKind {
  std::string_view name;
  std::array<Argument, kMaxArguments> arguments{};
  int argument_count = 0;
  int weight = 1;  // how often the mutator chooses it, relative to the others; 0 never
};

// The operations of one subject, in the order of their codes: append only, since binary cases store the codes.
struct Alphabet {
  std::span<const OperationKind> operations;
};

// What is wrong with names that stand in text cases and on command lines, in a sentence; "" if nothing is: one that is empty,
// that two share, or that would be read as something else. `of` says whose they are.
std::string MistakeInNames(std::string_view of, std::span<const std::string_view> names);

// What is wrong with a table of operations, in a sentence; "" if nothing is. An argument that is not counted would never be used.
std::string MistakeIn(const Alphabet& alphabet);

// Number of operations, all threads together.
std::size_t OperationCount(const Case& c);

// The letter of a thread: A, B, ...
inline char ThreadName(int thread) { return static_cast<char>('A' + thread); }

// Seeds whatever the bytes do not decide: a hash of everything in the case but the switches. The same on every platform.
std::uint64_t Seed(const Case& c);

// Reduces codes, arguments and thread numbers modulo their ranges, cuts to the limits above and drops the schedule that the
// strategy does not use, in place and without allocating (but for a case without threads, which gets kDefaultThreads).
// Afterwards the case is valid for that alphabet; every decoder ends in it, and a valid case is left as it is.
void Normalize(const Alphabet& alphabet, Case& c);

}  // namespace handoff
