// What the command line and the environment ask of a target binary.
//
// Flags are libFuzzer's, which reads them too; what libFuzzer does not know comes from HANDOFF_* variables named after the flags
// of scripts/handoff.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/target.h"

namespace handoff {

struct Options {
  // Written into every case before it runs. HANDOFF_STRATEGY, HANDOFF_GRANULARITY, HANDOFF_PARAMETER.
  std::optional<Strategy> strategy;
  std::optional<Granularity> granularity;
  std::optional<std::uint8_t> parameter;
  int twin = -1;                                          // HANDOFF_TWIN; index into Target::twins, or -1 for the safe one
  schedule::Carrier carrier = schedule::Carrier::kFiber;  // the target's; HANDOFF_CARRIER=thread
  bool describe = false;                                  // HANDOFF_DESCRIBE=1
  bool print_text = false;                                // HANDOFF_PRINT_TEXT=1: files are printed as text, nothing runs
  bool why = false;                                       // HANDOFF_WHY=1: what a file's finding hangs on is looked for
  std::string replay_json;                                // HANDOFF_REPLAY_JSON, "" if unset
  int confirm_seconds = 10;                               // HANDOFF_CONFIRM_SECONDS: how long a finding may take to fail again

  std::string artifact_prefix = "./";  // -artifact_prefix=
  std::string exact_artifact_path;     // -exact_artifact_path=
  int timeout_seconds = 25;            // -timeout=; libFuzzer's own default of 1,200 is of no use to anybody
  int runs = 1;                        // -runs=, for files that are replayed
  bool minimizes = false;              // a step of -minimize_crash: the file that libFuzzer chose is the one to keep
  bool merges = false;                 // -merge and its like: a failing input is only to be passed over
  std::vector<std::string> files;      // to be replayed one by one; empty when libFuzzer is to fuzz, merge or minimise
};

// The value of an environment variable, or null.
using Environment = const char* (*)(const char* name);

// The options, or a sentence on what is wrong, which lists the valid values. `arguments` without the program's name.
std::variant<Options, std::string> ReadOptions(const Target& target, const std::vector<std::string>& arguments,
                                               Environment environment);

// A variable in `environment` (NAME=VALUE, ended by null) that is all but one of ours, in a sentence; "" if there is none.
// Misspelt, it would ask for nothing, and a campaign for a twin would be one for the safe target. Others that begin likewise are
// their owner's.
std::string MisspeltVariable(const char* const* environment);

// Writes the overrides into a case; valid before, valid after.
void Override(const Options& options, Case& c);
// Whether there are any.
bool HasOverrides(const Options& options);

}  // namespace handoff
