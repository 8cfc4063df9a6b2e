// The text form of a case: what people write, review in a diff and keep as a regression.
//
//   handoff case 1                     version of the form; always the first line
//   # a comment, to the end of the line
//   strategy listed                    settings, each at most once, before everything else; left out: those of an empty case
//   granularity access
//   parameter 51
//   threads 3
//   A export slot=2 kind=versioned     thread, operation, arguments; an argument left out is zero
//   start B                            `listed`: the decision at the gate
//   switch B 2.1+17 to A               `listed`: B in its operation 2 (from 0), behind 1 sync point and 17 accesses; +0 may go
//   bytes 0a1bff                       the other strategies: schedule bytes, two hex digits each, on any number of lines
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "harness/case/case.h"

namespace handoff {

// What is wrong with a text case. Line and column count from 1, columns in bytes.
struct TextError {
  std::string file;
  int line = 0;
  int column = 0;
  std::string expected;  // lists the valid names where there are some
  std::string found;
};

// "file:line:column: expected …, found …", without a line end.
std::string ToString(const TextError& error);

using CaseOrError = std::variant<Case, TextError>;

// Any thread may call these functions; they share nothing.

// Reads a text case. A case that is returned is valid for `alphabet`. `file_name` is used for messages only.
CaseOrError ParseCase(const Alphabet& alphabet, std::string_view text, std::string_view file_name);

// Writes a text case; `c` must be valid for `alphabet`. Parsing the result gives `c` again. Each line of `comment` becomes a
// comment under the first line.
std::string PrintCase(const Alphabet& alphabet, const Case& c, std::string_view comment = {});

// An operation as it stands in a text case behind its thread: name and arguments. `operation` must be valid for `alphabet`.
std::string PrintOperation(const Alphabet& alphabet, const Operation& operation);

// Whether the data is meant as a text case: it starts with "handoff case", or is text that has those words further down, which
// the parser then refuses.
bool IsText(std::span<const std::uint8_t> data);

// Reads a case in either form. Binary data never gives an error. The verbs refuse a text case with an error; the fuzzer skips it.
CaseOrError LoadCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, std::string_view file_name);

// The same into `out`, whatever it held; binary data without allocating (see DecodeCase). After an error `out` is unchanged.
std::optional<TextError> LoadCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, std::string_view file_name,
                                  Case& out);

}  // namespace handoff
