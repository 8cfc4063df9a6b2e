// What a sanitizer's report says, as data: the kind of error and the sites of its accesses.
//
// Reads the texts of ThreadSanitizer, AddressSanitizer (with LeakSanitizer) and UndefinedBehaviorSanitizer as clang 22 prints
// them, in both forms of a stack's line: "#0 function file:line (module+0x1f)" and "#0 0x7f in function file:line".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/finding.h"

namespace handoff {

struct SanitizerReport {
  // "data-race", "heap-use-after-free", "lock-order-inversion", "double-lock-of-a-mutex", "segv", "memory-leak",
  // "ub-signed-integer-overflow", ...: words of the report in small letters, without what is in parentheses.
  std::string kind;
  // The accesses, the failing one first: two of a race, one for each lock of an inversion; of a memory error the access and,
  // where the report has it, who freed the memory. Empty if the report has no stack.
  std::vector<Site> sites;
  std::string text;  // the report alone, without what was printed before and after it
};

// The first report of an error in `text` (a fatal one if there are both kinds, since UBSan's may go on); nothing if there is
// none. `program` is the base name of the running binary: AddressSanitizer's lines name no module for functions of the binary.
// Any thread.
std::optional<SanitizerReport> ParseSanitizerReport(std::string_view text, std::string_view program);

}  // namespace handoff
