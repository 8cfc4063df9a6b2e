// The rules of the DLPack protocol as we number them, and who judges each.
//
// A verdict names the rule that was broken. A rule without a check says why no machine can judge it here.
#pragma once

#include <span>
#include <string_view>

namespace handoff::dlpack {

// Where a rule is written down.
enum class Source : char {
  kHeader = 'H',    // comments of dlpack.h 1.3
  kPython = 'P',    // DLPack's Python specification
  kArrayApi = 'A',  // array API standard, draft of 2026
  kCPython = 'X',   // CPython's documentation of thread safety
};

struct Rule {
  std::string_view number;
  Source source;
  std::string_view text;  // in our words
  std::string_view
      check;  // the verdicts that name it, by their kinds of oracle::Fail; "thread": a race report, which names no rule; or ""
  std::string_view shown;  // a twin, or a test of the ledger, that breaks it; without a check, the reason why there is none
};

std::span<const Rule> Rules();

}  // namespace handoff::dlpack
