// What one execution in another process came to, read from what it left behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/report/finding.h"
#include "harness/run/exchange.h"

namespace handoff {

struct Outcome {
  EndKind end = EndKind::kNone;
  std::string kind;
  std::string rule;
  std::string detail;
  std::vector<Site> sites;  // as in Finding::sites
  std::string text;         // the sanitizer's report, else the scheduler's stacks, else all that the process printed
  int thread = -1;          // which noticed, or -1
  Position at;              // of that thread
  std::uint64_t hash = 0;
  std::uint64_t decisions = 0;
  bool switches_lost = false;
  std::vector<Switch> switches;
  std::vector<TraceStep> trace;
  std::size_t steps_lost = 0;               // as in Finding
  Site where;                               // as in Finding
  std::vector<schedule::CodePlace> places;  // of the trace's steps
  std::vector<schedule::Stack> stacks;      // of what the scheduler found, and of a time-out
  schedule::Profile profile;

  bool lost = false;  // it was not run: the system refused a process, a pipe or a file; `detail` says which

  bool Failed() const { return end != EndKind::kClean && !lost; }
};

// Copies an observation whose writer is done. `text` is what that process printed; a sanitizer's report in it refines the kind
// and gives the sites. Step::what points to strings that are kept for the rest of the process.
Outcome ReadObservation(const Observation& observation, std::string text);

// All of a file that others write (a memfd), whatever the file's offset; at most `limit` bytes.
std::string ReadReport(int file, std::size_t limit = std::size_t{256} * 1024);

// `c` with the switches of the outcome's run: the form that needs no strategy.
Case Listed(const Case& c, const Outcome& outcome);

}  // namespace handoff
