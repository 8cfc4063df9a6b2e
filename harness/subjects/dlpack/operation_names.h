// For unit tests: operations, arguments and twins by name, so that a test reads like a text case.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/case/case.h"
#include "harness/subjects/subject.h"

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define HANDOFF_TSAN 1
#endif
#endif

namespace handoff::dlpack {

inline Operation OperationNamed(const Alphabet& alphabet, std::string_view name,
                                std::array<std::uint8_t, kMaxArguments> arguments) {
  for (std::size_t i = 0; i < alphabet.operations.size(); ++i) {
    if (alphabet.operations[i].name == name) return {static_cast<std::uint8_t>(i), arguments};
  }
  ADD_FAILURE() << "no operation " << name;
  return {};
}

template <typename Names>
std::uint8_t ValueOf(const Names& names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<std::uint8_t>(i);
  }
  ADD_FAILURE() << "no value " << name;
  return 0;
}

// The index that Target::make takes; -1 for "safe".
inline int TwinNamed(std::span<const Twin> twins, std::string_view name) {
  for (std::size_t i = 0; i < twins.size(); ++i) {
    if (twins[i].name == name) return static_cast<int>(i);
  }
  if (name != "safe") ADD_FAILURE() << "no twin " << name;
  return -1;
}

}  // namespace handoff::dlpack
