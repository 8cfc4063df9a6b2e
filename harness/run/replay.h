// What replayed files came to, for scripts (HANDOFF_REPLAY_JSON).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/run/outcome.h"

namespace handoff {

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
