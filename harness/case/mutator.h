// Mutation and crossover of cases for a fuzzer. Operations and schedule are changed apart from each other: a good schedule
// survives a change of an argument, and a good program a change of the schedule.
//
// A custom mutator also serves libFuzzer's -minimize_crash, so a third of the mutations make the case smaller
// (https://llvm.org/docs/LibFuzzer.html; the limit of a minimising run is one byte below the size of the input).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/case/case.h"

namespace handoff {

// LLVMFuzzerMutate's signature: changes `size` bytes in place, to at most `max_size`, and returns the new size.
using MutateBytes = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t max_size);

// The body of LLVMFuzzerCustomMutator. Reads a case in either form from `data` (a text case with an error counts as an empty
// case), changes it, writes it back in binary form and returns its size, at most `max_size` (which may be below `size`; `data`
// has room for the larger of them). The same arguments give the same result, if those of `mutate_bytes` do. Never chooses the
// strategies `free`, whose runs do not replay, and `listed`, whose switches come from a recorded run; a case that is `listed`
// stays so. Called by the fuzzer's own thread.
std::size_t MutateCase(const Alphabet& alphabet, std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                       MutateBytes mutate_bytes);

// The body of LLVMFuzzerCustomCrossOver: the operations of both cases, or of one under the schedule of the other. Writes at most
// `max_size` bytes to `out`, and returns how many.
std::size_t CrossCases(const Alphabet& alphabet, std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                       std::uint8_t* out, std::size_t max_size, unsigned seed);

}  // namespace handoff
