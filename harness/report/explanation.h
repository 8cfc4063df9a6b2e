// A finding as it is printed and kept: fixed headings in a fixed order, which scripts look for.
//
//   FINDING        kind, target, twin, rule, detail, accesses
//   INTERLEAVING   the run as a table, a column a thread
//   WHY            which change of order makes it pass
//   REPORT         the sanitizer's text
//   REPLAY         the command that runs it again
//   TEST           the commands that keep it as a regression test
//   DEDUP_TOKEN: the signature
#pragma once

#include <string>
#include <string_view>

#include "harness/case/case.h"
#include "harness/report/finding.h"

namespace handoff {

// What the finding itself cannot know. Borrowed for the call.
struct ExplanationTexts {
  std::string_view why;      // the change of order that makes it pass, or why there is none; "" if nobody has looked
  std::string_view explain;  // then, or if it was cut short: the command that looks for it, on one line
  std::string_view replay;   // the command, on one line
  std::string_view test;     // the commands, one a line, the first without an indent
  bool cut_short = false;    // the look at why was interrupted
};

// The text, ending in a line end. Lines of ours are at most kReportWidth bytes, commands and the sanitizer's text excepted: those
// are copied as they are. Any thread.
std::string Explain(const Finding& finding, const Alphabet& alphabet, const ExplanationTexts& texts);

}  // namespace handoff
