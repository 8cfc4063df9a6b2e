// What is smaller than a case, for the shrinker (shrink.h): programs with one thing less, simpler ways to write the same, and
// other schedules to try where the one at hand lost its places.
//
// Pure functions: any thread may call them. What they return need not fail, and is in the order in which it is worth trying. Of a
// case with hundreds of switches there would be too much of it: what is about single switches is empty then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/case/case.h"

namespace handoff {

// How much a person has to read, the heaviest first: threads, operations, switches, granularity, switches with an access count,
// arguments that are not zero, their sum, sync counts, access counts. Sizes compare like numbers of nine digits.
using CaseSize = std::array<std::uint64_t, 9>;
CaseSize SizeOf(const Case& c);

// Where a run came by: a thread stood at a step.
struct Place {
  std::uint8_t thread = 0;
  Position at{};
  bool operator==(const Place&) const = default;
};

// `c` without a thread, with two threads made one, and without an operation. A switch inside an operation that is left out goes
// with it, and in another variant moves to the boundary between its neighbours.
std::vector<Case> SmallerPrograms(const Case& c);

// `c` without two operations, which may only make sense together. Empty for programs that are too large for that.
std::vector<Case> WithoutPairs(const Case& c);

// `c` without switches: each thread after the one before it, once from each thread on.
std::vector<Case> WithoutSwitches(const Case& c);

// The same operations with one switch less: under other letters, since A runs first unless told otherwise; and moved to the
// thread that goes on behind them.
std::vector<Case> FewerSwitches(const Case& c);

// The same program with a schedule that reads more easily: a coarser granularity, switches at boundaries of operations, at sync
// points, and after fewer of either.
std::vector<Case> SimplerSchedules(const Case& c);

// The same with smaller arguments: 0 first, then half the way and so on. Arguments that are equal may have to stay equal (both
// name the same box), so they also go down together.
std::vector<Case> SmallerArguments(const Case& c);

// Other schedules for a program whose anchors may have moved: each of its switches alone, and with a few points or accesses more
// or less.
std::vector<Case> NearbySchedules(const Case& c);

// `c`, whose run came by `places`, with one switch more: at each place, to each thread that still had steps to make. If those are
// more than `most`, as many of them, from the first to the last.
std::vector<Case> WithOneSwitch(const Case& c, std::span<const Place> places, std::size_t most);

}  // namespace handoff
