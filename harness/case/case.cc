#include "harness/case/case.h"

#include <algorithm>
#include <utility>

namespace handoff {
namespace {

// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) over numbers instead of bytes, for the sake of speed: short, and the same
// on every platform.
class Hash {
 public:
  // A multiplication carries upwards only; the shift brings the high bits down again.
  void Add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x100000001b3;
    value_ ^= value_ >> 32;
  }

  // FNV's high bits change little with the last numbers; the finaliser of SplitMix64 spreads them.
  std::uint64_t Finish() const {
    std::uint64_t x = value_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

void NormalizeOperation(const Alphabet& alphabet, Operation& operation) {
  operation.code = static_cast<std::uint8_t>(operation.code % alphabet.operations.size());
  const OperationKind& kind = alphabet.operations[operation.code];
  for (std::size_t i = 0; i < kMaxArguments; ++i) {
    const int values = std::cmp_less(i, kind.argument_count) ? ValueCount(kind.arguments[i]) : 1;
    operation.arguments[i] = static_cast<std::uint8_t>(operation.arguments[i] % values);
  }
}

void NormalizeProgram(const Alphabet& alphabet, Case& c) {
  if (c.threads.empty()) c.threads.resize(kDefaultThreads);
  if (c.threads.size() > kMaxThreads) c.threads.resize(kMaxThreads);
  std::size_t room = alphabet.operations.empty() ? 0 : kMaxOperations;
  for (auto& thread : c.threads) {
    if (thread.size() > room) thread.resize(room);
    room -= thread.size();
    for (Operation& operation : thread) NormalizeOperation(alphabet, operation);
  }
}

// Not modulo the program's threads: a created thread would become one of those, and the schedule another one.
void NormalizeSwitch(Switch& s) {
  s.to = static_cast<std::uint8_t>(s.to % kMaxScheduled);
  if (s.thread == kGate) {
    s.at = {};
  } else {
    s.thread = static_cast<std::uint8_t>(s.thread % kMaxScheduled);
  }
}

}  // namespace

std::string MistakeInNames(std::string_view of, std::span<const std::string_view> names) {
  const std::string expected = "expected a name of its own for " + std::string(of) + ", found ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return expected + "one without";
    if (std::ranges::find(names.first(i), names[i]) != names.begin() + static_cast<std::ptrdiff_t>(i))
      return expected + std::string(names[i]) + " twice";
    if (names[i].find_first_of(" \t\r\n=#/") == std::string_view::npos) continue;
    return expected + "'" + std::string(names[i]) + "', with a character that separates";
  }
  return "";
}

namespace {
std::string MistakeIn(const OperationKind& kind) {
  const std::string operation = "operation " + std::string(kind.name);
  const auto named = std::ranges::count_if(kind.arguments, [](const Argument& argument) { return !argument.name.empty(); });
  if (named != kind.argument_count)
    return "expected argument_count " + std::to_string(named) + " of " + operation + ", as many as it names, found " +
           std::to_string(kind.argument_count);
  std::vector<std::string_view> names;
  for (const Argument& argument : std::span(kind.arguments).first(static_cast<std::size_t>(kind.argument_count))) {
    const std::string of = "argument " + std::string(argument.name) + " of " + operation;
    if (ValueCount(argument) < 1 || ValueCount(argument) > 256)
      return "expected 1 to 256 values of " + of + ", found " + std::to_string(ValueCount(argument));
    if (std::string mistake = MistakeInNames("each value of " + of, argument.value_names); !mistake.empty()) return mistake;
    names.push_back(argument.name);
  }
  return MistakeInNames("each argument of " + operation, names);
}
}  // namespace

std::string MistakeIn(const Alphabet& alphabet) {
  if (alphabet.operations.empty()) return "expected at least one operation, found none";
  std::vector<std::string_view> names;
  for (const OperationKind& kind : alphabet.operations) {
    if (std::string mistake = MistakeIn(kind); !kind.name.empty() && !mistake.empty()) return mistake;
    names.push_back(kind.name);
  }
  return MistakeInNames("each operation", names);
}

std::size_t OperationCount(const Case& c) {
  std::size_t count = 0;
  for (const auto& thread : c.threads) count += thread.size();
  return count;
}

std::uint64_t Seed(const Case& c) {
  Hash hash;
  hash.Add(static_cast<std::size_t>(c.strategy));
  hash.Add(static_cast<std::size_t>(c.granularity));
  hash.Add(c.parameter);
  for (const auto& thread : c.threads) {
    hash.Add(thread.size());  // else an operation moved from the end of A to the start of B would not count
    for (const Operation& operation : thread) {
      std::uint64_t word = operation.code;
      for (const std::uint8_t argument : operation.arguments) word = word << 8 | argument;
      hash.Add(word);
    }
  }
  for (const std::uint8_t byte : c.bytes) hash.Add(byte);
  return hash.Finish();
}

void Normalize(const Alphabet& alphabet, Case& c) {
  c.strategy = static_cast<Strategy>(static_cast<int>(c.strategy) % kStrategies);
  c.granularity = static_cast<Granularity>(static_cast<int>(c.granularity) % kGranularities);
  NormalizeProgram(alphabet, c);
  if (c.strategy == Strategy::kListed) {
    c.bytes.clear();
  } else {
    c.switches.clear();
  }
  if (c.bytes.size() > kMaxScheduleBytes) c.bytes.resize(kMaxScheduleBytes);
  if (c.switches.size() > kMaxSwitches) c.switches.resize(kMaxSwitches);
  for (Switch& s : c.switches) NormalizeSwitch(s);
}

}  // namespace handoff
