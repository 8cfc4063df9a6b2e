// Files that are replayed: read, printed as text, and what they came to, for scripts (HANDOFF_REPLAY_JSON).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/options.h"
#include "harness/run/outcome.h"
#include "harness/run/target.h"

namespace handoff {

// How a text case says that it is run, in its comments; "" where it does not say.
struct WrittenFor {
  std::string target;
  std::string twin;
  std::string sanitizer;
};

struct CaseFile {
  Case c;
  WrittenFor written_for;
  std::vector<int> switch_lines;  // of a text case: the line, from 1, of each entry of Case::switches
};

// Reads a case in either form. False, with a sentence on standard error, if it cannot be read.
bool ReadCaseFile(const Alphabet& alphabet, const std::string& path, CaseFile& file);

// The text form of a case that runs as `options` say, with comments that let scripts/handoff run it in the same way.
std::string PrintWithOrigin(const Target& target, const Options& options, const Case& c);

// A sentence for each thing that a text case says of how it is run and that is not so here: scripts/handoff heeds it, a program
// that is run by hand does not.
std::vector<std::string> OtherWays(const CaseFile& file, const Target& target, const Options& options, const std::string& path);

// A sentence for each switch of a text case that the run did not take: somebody who writes one by hand wants to know.
std::vector<std::string> UntakenSwitches(const CaseFile& file, const Outcome& outcome, const std::string& path);

struct ReplayedFile {
  std::string path;
  int runs = 0;
  int failed = 0;
  std::string kind;                   // of the last failing run, or ""
  std::string signature;              // the same
  std::vector<std::uint64_t> hashes;  // of the trace, per run
};

struct ReplaySummary {
  std::vector<ReplayedFile> files;
};

// Counts one run.
void Add(const Outcome& outcome, ReplayedFile& file);

// One JSON object: {"files": [{"path", "runs", "failed", "kind", "signature", "hashes": ["16 hex digits", ...]}]}.
std::string ToJson(const ReplaySummary& summary);

// The same into a file; false, with a sentence on standard error, if that fails.
bool Write(const ReplaySummary& summary, const std::string& path);

}  // namespace handoff
