#include "harness/run/replay.h"

#include <array>
#include <cstdio>
#include <fstream>

#include "harness/run/describe.h"

namespace handoff {

namespace {

std::string Hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::string ToJson(const ReplayedFile& file) {
  std::string hashes;
  for (const std::uint64_t hash : file.hashes) hashes += (hashes.empty() ? "" : ", ") + Quoted(Hex(hash));
  return "{\"path\": " + Quoted(file.path) + ", \"runs\": " + std::to_string(file.runs) +
         ", \"failed\": " + std::to_string(file.failed) + ", \"kind\": " + Quoted(file.kind) +
         ", \"signature\": " + Quoted(file.signature) + ", \"hashes\": [" + hashes + "]}";
}

}  // namespace

void Add(const Outcome& outcome, ReplayedFile& file) {
  ++file.runs;
  file.hashes.push_back(outcome.hash);
  if (!outcome.Failed()) return;
  ++file.failed;
  file.kind = outcome.kind;
}

std::string ToJson(const ReplaySummary& summary) {
  std::string files;
  for (const ReplayedFile& file : summary.files) files += (files.empty() ? "" : ", ") + ToJson(file);
  return "{\"files\": [" + files + "]}";
}

bool Write(const ReplaySummary& summary, const std::string& path) {
  std::ofstream file(path);
  file << ToJson(summary) << '\n';
  file.close();
  if (file) return true;
  std::fprintf(stderr, "HANDOFF_REPLAY_JSON: expected a file that can be written, and could not write %s.\n", path.c_str());
  return false;
}

}  // namespace handoff
