// A small alphabet and random cases over it, for the tests of this folder.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "harness/case/case.h"

namespace handoff::testing {

inline constexpr std::array<std::string_view, 2> kKinds = {"legacy", "versioned"};
// Named and numbered arguments, the largest and the smallest range, no argument, and one that the mutator never chooses.
inline constexpr std::array<OperationKind, 5> kOperations = {{
    {.name = "export",
     .arguments = {{{.name = "slot", .values = 3}, {.name = "kind", .value_names = kKinds}}},
     .argument_count = 2},
    {.name = "consume", .arguments = {{{.name = "slot", .values = 3}}}, .argument_count = 1, .weight = 3},
    {.name = "drop"},
    {.name = "write",
     .arguments =
         {{{.name = "slot", .values = 3}, {.name = "value"}, {.name = "only", .values = 1}, {.name = "bit", .values = 2}}},
     .argument_count = 4},
    {.name = "finalize", .weight = 0},
}};
inline constexpr Alphabet kAlphabet = {kOperations};

inline std::size_t Draw(std::mt19937& random, std::size_t limit) { return random() % limit; }

inline std::vector<std::uint8_t> RandomBytes(std::mt19937& random, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

inline Switch RandomSwitch(std::mt19937& random) {
  return {.thread = Draw(random, 8) == 0 ? kGate : static_cast<std::uint8_t>(random()),
          .to = static_cast<std::uint8_t>(random()),
          .at = {.operation = static_cast<std::uint16_t>(random() >> Draw(random, 32)),
                 .sync = static_cast<std::uint16_t>(random() >> Draw(random, 32)),
                 .access = static_cast<std::uint32_t>(random() >> Draw(random, 32))}};
}

// A valid case for kAlphabet of the given strategy and granularity.
inline Case RandomCase(std::mt19937& random, Strategy strategy, Granularity granularity) {
  Case c{.strategy = strategy, .granularity = granularity, .parameter = static_cast<std::uint8_t>(random())};
  c.threads.resize(1 + Draw(random, kMaxThreads));
  for (std::size_t left = Draw(random, kMaxOperations + 1); left > 0; --left) {
    Operation operation{.code = static_cast<std::uint8_t>(random())};
    for (std::uint8_t& argument : operation.arguments) argument = static_cast<std::uint8_t>(random());
    c.threads[Draw(random, c.threads.size())].push_back(operation);
  }
  c.bytes = RandomBytes(random, Draw(random, 100));
  for (std::size_t left = Draw(random, 20); left > 0; --left) c.switches.push_back(RandomSwitch(random));
  Normalize(kAlphabet, c);
  return c;
}

// `count` valid cases of each strategy and granularity.
inline std::vector<Case> RandomCases(int count) {
  std::mt19937 random(1);
  std::vector<Case> cases;
  for (int strategy = 0; strategy < kStrategies; ++strategy) {
    for (int granularity = 0; granularity < kGranularities; ++granularity) {
      for (int i = 0; i < count; ++i) {
        cases.push_back(RandomCase(random, static_cast<Strategy>(strategy), static_cast<Granularity>(granularity)));
      }
    }
  }
  return cases;
}

// Whether `c` keeps every limit of case.h; written apart from Normalize.
inline bool IsValid(const Case& c) {
  if (c.threads.empty() || c.threads.size() > kMaxThreads || OperationCount(c) > kMaxOperations) return false;
  if (static_cast<int>(c.strategy) >= kStrategies || static_cast<int>(c.granularity) >= kGranularities) return false;
  if (c.bytes.size() > kMaxScheduleBytes || c.switches.size() > kMaxSwitches) return false;
  if (c.strategy == Strategy::kListed ? !c.bytes.empty() : !c.switches.empty()) return false;
  for (const auto& thread : c.threads) {
    for (const Operation& operation : thread) {
      if (operation.code >= kOperations.size()) return false;
      const OperationKind& kind = kOperations[operation.code];
      for (std::size_t i = 0; i < kMaxArguments; ++i) {
        if (operation.arguments[i] >= (static_cast<int>(i) < kind.argument_count ? ValueCount(kind.arguments[i]) : 1))
          return false;
      }
    }
  }
  for (const Switch& s : c.switches) {
    if (s.to >= kMaxScheduled || (s.thread != kGate && s.thread >= kMaxScheduled)) return false;
    if (s.thread == kGate && s.at != Position{}) return false;
  }
  return true;
}

}  // namespace handoff::testing
