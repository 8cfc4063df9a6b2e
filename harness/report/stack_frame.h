// One line of a stack as sanitizers print it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace handoff {

struct Frame {
  std::string function;  // plain (function_name.h); "" if unknown
  std::string module;    // base name
  std::string place;     // "capsule.cc:12"; "" if unknown
};

// Any thread may call these functions.

// Of "#0 function file:line (module+0x1f)" or "#0 0x7f in function file:line", whatever stands before the "#"; nothing if the
// line is none. `program` is the module of lines that name none.
std::optional<Frame> ParseFrame(std::string_view line, std::string_view program);

// Whether a frame says whose code it is: it is not plumbing.
bool IsOwn(const Frame& frame);

// `text` without white space at both ends.
std::string_view Trim(std::string_view text);

}  // namespace handoff
