#include "harness/run/smaller.h"

#include <algorithm>
#include <utility>

#include "harness/case/edit.h"

namespace handoff {
namespace {

// Programs of more operations have too many pairs: 12 have 66.
constexpr std::size_t kMostForPairs = 12;
// Cases of more switches are too many, and too long, to try each switch in each way.
constexpr std::size_t kMostSwitches = 64;
// How far an anchor may have moved: a branch taken differently costs a few points or accesses.
constexpr int kNearbySyncs = 2;
constexpr int kNearbyAccesses = 6;

Position StartOf(std::size_t operation) { return {.operation = static_cast<std::uint16_t>(operation)}; }

// Without operation `index` of `thread`; a switch inside it happens before whatever comes next.
Case WithSwitchesAtBoundary(Case c, std::size_t thread, std::size_t index) {
  for (Switch& s : c.switches) {
    if (s.thread == thread && s.at.operation == index) s.at = StartOf(index + 1);
  }
  EraseOperation(c, thread, index);
  return c;
}

// Calls `use` for each operation, from the end, where what came behind the failure lies.
template <class Use>
void ForEachOperation(const Case& c, Use use) {
  for (std::size_t thread = c.threads.size(); thread-- > 0;) {
    for (std::size_t index = c.threads[thread].size(); index-- > 0;) use(thread, index);
  }
}

// Positions that are easier to read than `at`, the easiest first.
std::vector<Position> SimplerPositions(const Position& at) {
  std::vector<Position> simpler = {StartOf(at.operation), StartOf(at.operation + std::size_t{1})};
  const auto add = [&](std::uint16_t sync, std::uint32_t access) {
    simpler.push_back({.operation = at.operation, .sync = sync, .access = access});
  };
  add(at.sync, 0);
  if (at.access != 0) add(static_cast<std::uint16_t>(at.sync + 1), 0);
  for (std::uint16_t less = at.sync; less > 0; less /= 2) add(static_cast<std::uint16_t>(at.sync - less), at.access);
  for (std::uint32_t less = at.access; less > 0; less /= 2) add(at.sync, at.access - less);
  return simpler;
}

// All switches at points of a granularity, before or behind where they were.
Case Rounded(Case c, Granularity granularity, bool up) {
  c.granularity = granularity;
  for (Switch& s : c.switches) {
    if (s.thread == kGate) continue;
    const bool op = granularity == Granularity::kOp;
    const bool between = s.at.access != 0 || (op && s.at.sync != 0);
    s.at.access = 0;
    if (op) s.at.sync = 0;
    if (!between || !up) continue;
    ++(op ? s.at.operation : s.at.sync);
  }
  return c;
}

// An argument that could be smaller.
struct Slot {
  std::size_t thread;
  std::size_t operation;
  std::size_t argument;
};

std::uint8_t& At(Case& c, const Slot& slot) { return c.threads[slot.thread][slot.operation].arguments[slot.argument]; }

std::vector<Slot> NonZeroArguments(const Case& c) {
  std::vector<Slot> slots;
  ForEachOperation(c, [&](std::size_t thread, std::size_t index) {
    for (std::size_t i = 0; i < kMaxArguments; ++i) {
      if (c.threads[thread][index].arguments[i] != 0) slots.push_back({thread, index, i});
    }
  });
  return slots;
}

// Adds cases in which the arguments of `slots`, which have the same value, are smaller by all of it, by half of it, ...
void Lower(const Case& c, std::span<const Slot> slots, std::vector<Case>& out) {
  Case smaller = c;
  const std::uint8_t value = At(smaller, slots.front());
  for (int less = value; less > 0; less /= 2) {
    for (const Slot& slot : slots) At(smaller, slot) = static_cast<std::uint8_t>(value - less);
    out.push_back(smaller);
  }
}

}  // namespace

CaseSize SizeOf(const Case& c) {
  CaseSize size = {c.threads.size(), OperationCount(c), c.switches.size(), static_cast<std::uint64_t>(c.granularity)};
  for (const Switch& s : c.switches) {
    size[4] += s.at.access != 0 ? 1 : 0;
    size[7] += s.at.sync;
    size[8] += s.at.access;
  }
  for (const auto& thread : c.threads) {
    for (const Operation& operation : thread) {
      for (const std::uint8_t argument : operation.arguments) {
        size[5] += argument != 0 ? 1 : 0;
        size[6] += argument;
      }
    }
  }
  return size;
}

std::vector<Case> SmallerPrograms(const Case& c) {
  std::vector<Case> out;
  const std::size_t threads = c.threads.size();
  for (std::size_t thread = threads; thread-- > 0 && threads > 1;) EraseThread(out.emplace_back(c), thread);
  for (std::size_t into = 0; into < threads; ++into) {
    for (std::size_t from = threads; from-- > 0;) {
      if (from != into) MergeThreads(out.emplace_back(c), into, from);
    }
  }
  ForEachOperation(c, [&](std::size_t thread, std::size_t index) {
    EraseOperation(out.emplace_back(c), thread, index);
    out.push_back(WithSwitchesAtBoundary(c, thread, index));
  });
  return out;
}

std::vector<Case> WithoutPairs(const Case& c) {
  std::vector<Case> out;
  if (OperationCount(c) > kMostForPairs) return out;
  ForEachOperation(c, [&](std::size_t thread, std::size_t index) {
    Case first = c;
    EraseOperation(first, thread, index);
    ForEachOperation(first, [&](std::size_t other, std::size_t second) {
      if (other > thread || (other == thread && second >= index)) return;  // each pair once
      EraseOperation(out.emplace_back(first), other, second);
    });
  });
  return out;
}

std::vector<Case> WithoutSwitches(const Case& c) {
  std::vector<Case> out;
  for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
    Case& plain = out.emplace_back(c);
    plain.switches.clear();
    if (thread > 0) plain.switches.push_back({.thread = kGate, .to = static_cast<std::uint8_t>(thread)});
  }
  return out;
}

std::vector<Case> FewerSwitches(const Case& c) {
  std::vector<Case> out;
  if (c.switches.size() > kMostSwitches) return out;
  for (std::size_t i = 0; i < c.switches.size(); ++i) {
    const Switch s = c.switches[i];
    Case without = c;
    without.switches.erase(without.switches.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t thread = 1; thread < c.threads.size(); ++thread) SwapThreads(out.emplace_back(without), 0, thread);
    if (s.thread >= c.threads.size() || s.to >= c.threads.size() || s.at != StartOf(s.at.operation)) continue;
    MoveOperations(without, s.thread, std::min<std::size_t>(s.at.operation, c.threads[s.thread].size()), s.to);
    out.push_back(without);
    SwapThreads(without, s.thread, s.to);
    out.push_back(std::move(without));
  }
  return out;
}

std::vector<Case> SimplerSchedules(const Case& c) {
  std::vector<Case> out;
  for (const Granularity granularity : {Granularity::kOp, Granularity::kSync}) {
    if (granularity >= c.granularity) break;
    out.emplace_back(c).granularity = granularity;
    for (const bool up : {false, true}) out.push_back(Rounded(c, granularity, up));
  }
  for (std::size_t i = 0; i < c.switches.size() && c.switches.size() <= kMostSwitches; ++i) {
    if (c.switches[i].thread == kGate) continue;
    for (const Position& at : SimplerPositions(c.switches[i].at)) out.emplace_back(c).switches[i].at = at;
  }
  return out;
}

std::vector<Case> SmallerArguments(const Case& c) {
  std::vector<Case> out;
  const std::vector<Slot> slots = NonZeroArguments(c);
  for (const Slot& slot : slots) Lower(c, std::span(&slot, 1), out);
  Case values = c;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::vector<Slot> equal = {slots[i]};
    for (std::size_t j = i + 1; j < slots.size(); ++j) {
      if (At(values, slots[j]) != At(values, slots[i])) continue;
      equal.push_back(slots[j]);
      Lower(c, std::vector<Slot>{slots[i], slots[j]}, out);
    }
    if (equal.size() > 2) Lower(c, equal, out);
    // All but one, which means something else.
    for (std::size_t other = 1; other < equal.size() && equal.size() > 3; ++other) {
      std::vector<Slot> rest = equal;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(other));
      Lower(c, rest, out);
    }
  }
  return out;
}

std::vector<Case> NearbySchedules(const Case& c) {
  std::vector<Case> out;
  if (c.switches.size() > kMostSwitches) return out;
  for (std::size_t i = 0; i < c.switches.size(); ++i) {
    if (c.switches[i].thread == kGate) continue;
    for (Case& alone : WithoutSwitches(c)) {
      alone.switches.push_back(c.switches[i]);
      out.push_back(std::move(alone));
    }
  }
  const auto move = [&](std::size_t i, int syncs, int accesses) {
    const Position& at = c.switches[i].at;
    const std::int64_t access = std::int64_t{at.access} + accesses;
    if (at.sync + syncs < 0 || access < 0) return;
    Switch& moved = out.emplace_back(c).switches[i];
    moved.at.sync = static_cast<std::uint16_t>(at.sync + syncs);
    moved.at.access = static_cast<std::uint32_t>(access);
  };
  for (int far = 1; far <= kNearbyAccesses; ++far) {
    for (std::size_t i = 0; i < c.switches.size(); ++i) {
      if (c.switches[i].thread == kGate) continue;
      for (const int by : {-far, far}) {
        if (far <= kNearbySyncs) move(i, by, 0);
        if (c.switches[i].at.access != 0) move(i, 0, by);
      }
    }
  }
  return out;
}

std::vector<Case> WithOneSwitch(const Case& c, std::span<const Place> places, std::size_t most) {
  std::array<std::size_t, kMaxScheduled> last{};  // place of each thread, counted from 1
  for (std::size_t i = 0; i < places.size(); ++i) last[places[i].thread % kMaxScheduled] = i + 1;
  std::vector<Switch> all;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::uint8_t to = 0; to < kMaxScheduled; ++to) {
      if (to != places[i].thread && last[to] > i) all.push_back({.thread = places[i].thread, .to = to, .at = places[i].at});
    }
  }
  std::vector<Case> out;
  const std::size_t count = std::min(all.size(), most);
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(c).switches.push_back(all[i * all.size() / count]);
  return out;
}

}  // namespace handoff
