// The binary form of a case. Total: any bytes decode to a valid case, since a fuzzer produces any bytes.
//
//   case      = header operation* schedule
//   header    = magic(0xca 0x5e) version(0x01) strategy granularity threads parameter operations    8 bytes
//   operation = thread code argument[4]                                                             6 bytes
//   schedule  = byte*                                      strategies but `listed`
//             | (thread to operation.16 sync.16 access.32)*        `listed`; 10 bytes each, little-endian; thread 0xff: the gate
//
// A value out of range counts modulo its range (`threads`: 8 for 0, 1 for 9). Missing header bytes have the values of an empty
// case; records cut short at the end of the operations are schedule, and at the end of the schedule are left out. Magic and
// version are not checked: any other version is read as the newest. A change of this layout takes a new version, and files of the
// old one still decode to the same cases (pinned in binary_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/case/case.h"

namespace handoff {

// Any thread may call these functions; they share nothing.

Case DecodeCase(const Alphabet& alphabet, std::span<const std::uint8_t> data);

// The same into `out`, whatever it held: its vectors are used again, so that a fuzzer that passes the same case each time stops
// allocating soon.
void DecodeCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, Case& out);

// `c` must be valid (see Normalize). Decoding the result gives `c` again.
std::vector<std::uint8_t> EncodeCase(const Case& c);

// The size of EncodeCase(c) in bytes.
std::size_t EncodedSize(const Case& c);

}  // namespace handoff
