#include "harness/case/mutator.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "harness/case/binary.h"
#include "harness/case/edit.h"
#include "harness/case/text.h"

namespace handoff {
namespace {

// How often each strategy is chosen, in percent. No single one finds most in every program (compare pct and pos in Wolff et al.,
// Greybox Fuzzing for Concurrency Testing, ASPLOS 2024), and only `bytes` gives the fuzzer's feedback something to work on.
struct Share {
  Strategy strategy;
  std::size_t percent;
};
constexpr std::array<Share, 5> kPortfolio = {
    {{Strategy::kBytes, 40}, {Strategy::kPos, 20}, {Strategy::kSurw, 15}, {Strategy::kRandom, 15}, {Strategy::kPct, 10}}};

// Arguments with more values than this are mutated as bytes too; fewer values are hit often enough by drawing them.
constexpr int kManyValues = 16;
// A schedule may grow by this many bytes in one mutation.
constexpr std::size_t kScheduleGrowth = 16;
// Of the changes to a list of switches, how many give it up for another strategy: about half of what libFuzzer makes of such a
// case in its five mutations in a row.
constexpr std::size_t kOneInLeaves = 4;
// A new switch stands behind fewer sync points than this, and behind at most 2^kAccessBits accesses.
constexpr std::size_t kSyncPoints = 8;
constexpr std::size_t kAccessBits = 12;

// SplitMix64 (https://prng.di.unimi.it/splitmix64.c): seeded in no time, unlike the standard engines, and the same everywhere.
class Random {
 public:
  explicit Random(unsigned seed) : state_(seed) {}

  // A number below `n`; 0 if there is none.
  std::size_t Below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(Next() % n); }
  bool Coin() { return Below(2) == 0; }
  std::uint8_t Byte() { return static_cast<std::uint8_t>(Next()); }

 private:
  std::uint64_t Next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::uint64_t state_;
};

// Changes one case. A step returns false if it has nothing to work on.
class Mutator {
 public:
  Mutator(const Alphabet& alphabet, Case& c, Random& random) : alphabet_(alphabet), case_(c), random_(random) {}

  // Makes the case smaller; false if nothing is left to remove.
  bool Shrink() {
    using M = Mutator;
    static constexpr std::array<Step, 7> kSteps = {&M::RemoveOperation, &M::CutSchedule, &M::RemoveOperation, &M::ThinSchedule,
                                                   &M::RemoveOperation, &M::CutSchedule, &M::RemoveThread};
    return Apply(kSteps);
  }

  // Makes the case different, mostly larger. Schedule bytes grow to at most `max_bytes`.
  bool Change(MutateBytes mutate_bytes, std::size_t max_bytes) {
    using M = Mutator;
    static constexpr std::array<Step, 12> kSteps = {
        &M::AddOperation,    &M::ChangeSchedule, &M::ChangeArgument, &M::AddOperation,   &M::MoveOperation, &M::ChangeSchedule,
        &M::RepeatOperation, &M::ChangeArgument, &M::ChangeSchedule, &M::SwapOperations, &M::ChangeHeader,  &M::AddThread};
    mutate_bytes_ = mutate_bytes;
    max_bytes_ = max_bytes;
    return Apply(kSteps);
  }

 private:
  using Step = bool (Mutator::*)();
  struct Place {
    std::size_t thread = 0;
    std::size_t index = 0;
  };

  // The first step of the list that can be taken, from a random one on. The lists name a step more than once to take it more
  // often.
  bool Apply(std::span<const Step> steps) {
    const std::size_t first = random_.Below(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if ((this->*steps[(first + i) % steps.size()])()) return true;
    }
    return false;
  }

  std::size_t RandomThread() { return random_.Below(case_.threads.size()); }

  // A random operation of the case, each as likely; there must be one.
  Place RandomOperation() {
    Place place{.index = random_.Below(OperationCount(case_))};
    while (place.index >= case_.threads[place.thread].size()) place.index -= case_.threads[place.thread++].size();
    return place;
  }

  Operation& At(const Place& place) { return case_.threads[place.thread][place.index]; }

  void InsertSomewhere(const Operation& operation) {
    const std::size_t thread = RandomThread();
    InsertOperation(case_, thread, random_.Below(case_.threads[thread].size() + 1), operation);
  }

  bool HasOperations() const { return OperationCount(case_) > 0; }
  bool HasRoom() const { return OperationCount(case_) < kMaxOperations; }

  bool AddOperation() {
    std::size_t total = 0;
    for (const OperationKind& kind : alphabet_.operations) total += static_cast<std::size_t>(kind.weight);
    if (total == 0 || !HasRoom()) return false;
    std::size_t ticket = random_.Below(total);
    Operation operation;
    while (std::cmp_greater_equal(ticket, alphabet_.operations[operation.code].weight)) {
      ticket -= static_cast<std::size_t>(alphabet_.operations[operation.code++].weight);
    }
    for (std::uint8_t& argument : operation.arguments) argument = random_.Byte();  // reduced by Normalize
    InsertSomewhere(operation);
    return true;
  }

  bool RepeatOperation() {
    if (!HasOperations() || !HasRoom()) return false;
    InsertSomewhere(At(RandomOperation()));
    return true;
  }

  bool SwapOperations() {
    if (OperationCount(case_) < 2) return false;
    std::swap(At(RandomOperation()), At(RandomOperation()));
    return true;
  }

  bool MoveOperation() {
    if (!HasOperations()) return false;
    const Place place = RandomOperation();
    InsertSomewhere(EraseOperation(case_, place.thread, place.index));
    return true;
  }

  bool RemoveOperation() {
    if (!HasOperations()) return false;
    const Place place = RandomOperation();
    EraseOperation(case_, place.thread, place.index);
    return true;
  }

  bool ChangeArgument() {
    if (!HasOperations()) return false;
    Operation& operation = At(RandomOperation());
    const OperationKind& kind = alphabet_.operations[operation.code];
    if (kind.argument_count == 0) return false;
    const std::size_t index = random_.Below(static_cast<std::size_t>(kind.argument_count));
    if (ValueCount(kind.arguments[index]) > kManyValues && random_.Coin()) {
      mutate_bytes_(&operation.arguments[index], 1, 1);
    } else {
      operation.arguments[index] = random_.Byte();
    }
    return true;
  }

  bool AddThread() {
    if (case_.threads.size() == kMaxThreads) return false;
    case_.threads.emplace_back();
    return true;
  }

  // A thread by itself has nothing to race with, so the second one goes last.
  bool RemoveThread() {
    const bool is_empty = EncodedSize(case_) == EncodedSize(Case{});
    if (case_.threads.size() < (is_empty ? 2 : 3)) return false;
    EraseThread(case_, RandomThread());
    return true;
  }

  bool ChangeHeader() {
    switch (random_.Below(4)) {
      case 0:
        case_.granularity = static_cast<Granularity>(random_.Below(kGranularities));
        return true;
      case 1:
        case_.parameter = random_.Coin() ? std::uint8_t{0} : random_.Byte();
        return true;
      default:
        return DrawStrategy();
    }
  }

  bool DrawStrategy() {
    if (case_.strategy == Strategy::kListed) LeaveList();
    std::size_t ticket = random_.Below(100);
    const Share* share = kPortfolio.data();
    while (ticket >= share->percent) ticket -= (share++)->percent;
    case_.strategy = share->strategy;
    return true;
  }

  // The way back from a list of switches: seeds that people write are such lists, and without it a campaign that has nothing else
  // would try no other strategy.
  void LeaveList() {
    case_.switches.clear();
    if (random_.Coin()) case_.granularity = Case{}.granularity;
  }

  bool ChangeSchedule() {
    if (case_.strategy != Strategy::kListed) return MutateScheduleBytes();
    if (random_.Below(kOneInLeaves) == 0) return DrawStrategy();
    return random_.Coin() ? AddSwitch() : MoveSwitch();
  }

  bool MutateScheduleBytes() {
    std::vector<std::uint8_t>& bytes = case_.bytes;
    const std::size_t size = bytes.size();
    const std::size_t limit = std::min(size + kScheduleGrowth, max_bytes_);
    if (limit == 0 || limit < size) return false;
    bytes.resize(limit);
    bytes.resize(mutate_bytes_(bytes.data(), size, limit));
    return true;
  }

  std::uint32_t RandomAccess() {
    return static_cast<std::uint32_t>(random_.Below(std::size_t{1} << random_.Below(kAccessBits + 1)));
  }

  bool AddSwitch() {
    if (case_.switches.size() == kMaxSwitches) return false;
    Switch s{.thread = static_cast<std::uint8_t>(RandomThread()), .to = static_cast<std::uint8_t>(RandomThread())};
    s.at.operation = static_cast<std::uint16_t>(random_.Below(case_.threads[s.thread].size()));
    if (case_.granularity >= Granularity::kSync) s.at.sync = static_cast<std::uint16_t>(random_.Below(kSyncPoints));
    if (case_.granularity >= Granularity::kAccess) s.at.access = RandomAccess();
    const auto index = static_cast<std::ptrdiff_t>(random_.Below(case_.switches.size() + 1));
    case_.switches.insert(case_.switches.begin() + index, s);
    return true;
  }

  // Moves a switch to a point near by, or changes where it leads. Numbers wrap around at zero, which only makes a switch that is
  // never reached.
  bool MoveSwitch() {
    if (case_.switches.empty()) return false;
    Switch& s = case_.switches[random_.Below(case_.switches.size())];
    const std::size_t field = s.thread == kGate ? 0 : random_.Below(4);
    const std::uint16_t step = random_.Coin() ? std::uint16_t{1} : std::uint16_t{0xffff};
    if (field == 0) s.to = static_cast<std::uint8_t>(RandomThread());
    if (field == 1) s.at.sync = static_cast<std::uint16_t>(s.at.sync + step);
    if (field >= 2) s.at.access = random_.Coin() ? s.at.access + RandomAccess() : s.at.access - RandomAccess();
    return true;
  }

  // Cuts the schedule's tail off.
  bool CutSchedule() {
    if (case_.bytes.empty() && case_.switches.empty()) return false;
    case_.bytes.resize(random_.Below(case_.bytes.size()));
    case_.switches.resize(random_.Below(case_.switches.size()));
    return true;
  }

  // Removes one byte or switch.
  bool ThinSchedule() { return RemoveOne(case_.bytes) || RemoveOne(case_.switches); }

  template <class T>
  bool RemoveOne(std::vector<T>& list) {
    if (list.empty()) return false;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.Below(list.size())));
    return true;
  }

  const Alphabet& alphabet_;  // the caller's, like the case and the generator
  Case& case_;
  Random& random_;
  MutateBytes mutate_bytes_ = nullptr;
  std::size_t max_bytes_ = 0;
};

Case LoadOrEmpty(const Alphabet& alphabet, std::span<const std::uint8_t> data) {
  CaseOrError loaded = LoadCase(alphabet, data, "");
  if (auto* c = std::get_if<Case>(&loaded)) return std::move(*c);
  return DecodeCase(alphabet, {});
}

// Shrinks the case until it fits, and writes it.
std::size_t Write(const Alphabet& alphabet, Case& c, Random& random, std::uint8_t* out, std::size_t max_size) {
  Mutator mutator(alphabet, c, random);
  while (EncodedSize(c) > max_size && mutator.Shrink()) {
  }
  Normalize(alphabet, c);
  const std::vector<std::uint8_t> encoded = EncodeCase(c);
  const std::size_t size = std::min(encoded.size(), max_size);  // a part of the header is a case too
  std::copy_n(encoded.begin(), size, out);
  return size;
}

// The beginning of one list and the end of the other.
template <class T>
std::vector<T> Splice(const std::vector<T>& first, const std::vector<T>& second, Random& random) {
  const auto head = static_cast<std::ptrdiff_t>(random.Below(first.size() + 1));
  const auto tail = static_cast<std::ptrdiff_t>(random.Below(second.size() + 1));
  std::vector<T> out(first.begin(), first.begin() + head);
  out.insert(out.end(), second.begin() + tail, second.end());
  return out;
}

}  // namespace

std::size_t MutateCase(const Alphabet& alphabet, std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                       MutateBytes mutate_bytes) {
  Random random(seed);
  Case c = LoadOrEmpty(alphabet, {data, size});
  Mutator mutator(alphabet, c, random);
  const bool shrink = random.Below(3) == 0;
  do {
    if (shrink && mutator.Shrink()) continue;
    const std::size_t other = EncodedSize(c) - c.bytes.size();
    mutator.Change(mutate_bytes, std::min(kMaxScheduleBytes, max_size - std::min(other, max_size)));
  } while (random.Coin());
  return Write(alphabet, c, random, data, max_size);
}

std::size_t CrossCases(const Alphabet& alphabet, std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                       std::uint8_t* out, std::size_t max_size, unsigned seed) {
  Random random(seed);
  Case c = LoadOrEmpty(alphabet, first);
  Case other = LoadOrEmpty(alphabet, second);
  if (random.Coin()) std::swap(c, other);
  if (random.Coin()) {  // the program of one under the schedule of the other
    std::swap(c.threads, other.threads);
  } else {
    const std::size_t shared = std::min(c.threads.size(), other.threads.size());
    for (std::size_t i = 0; i < shared; ++i) c.threads[i] = Splice(c.threads[i], other.threads[i], random);
    c.bytes = Splice(c.bytes, other.bytes, random);
  }
  Normalize(alphabet, c);
  return Write(alphabet, c, random, out, max_size);
}

}  // namespace handoff
