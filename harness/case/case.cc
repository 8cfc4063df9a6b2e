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

std::string MistakeIn(const Alphabet& alphabet) {
  if (alphabet.operations.empty()) return "expected at least one operation, found none";
  for (const OperationKind& kind : alphabet.operations) {
    const auto named = std::ranges::count_if(kind.arguments, [](const Argument& argument) { return !argument.name.empty(); });
    if (kind.name.empty()) return "expected a name of each operation, found one without";
    if (named == kind.argument_count) continue;
    return "expected argument_count " + std::to_string(named) + " of operation " + std::string(kind.name) +
           ", as many as it names, found " + std::to_string(kind.argument_count);
  }
  return "";
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
