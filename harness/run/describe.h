// What a target says of itself to scripts.
#pragma once

#include <string>
#include <string_view>

#include "harness/run/target.h"

namespace handoff {

// What the target is built with: "thread", "address", or "none".
std::string_view SanitizerName();

// One JSON object on one line: name, summary, carrier, sanitizer, finest granularity, operations and twins.
std::string Describe(const Target& target);

// A JSON string with its quotes.
std::string Quoted(std::string_view text);

}  // namespace handoff
