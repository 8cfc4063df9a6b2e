#include "harness/run/replay.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>

#include "harness/case/text.h"
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

std::vector<int> SwitchLines(const std::string& text) {
  std::vector<int> lines;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string word;
    std::istringstream(line) >> word;
    if (word == "switch" || word == "start") lines.push_back(number);
  }
  return lines;
}

// What stands behind "# word:", without the blanks around it.
std::string Comment(const std::string& text, const std::string& word) {
  std::istringstream stream(text);
  const std::string start = "# " + word + ":";
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(start)) continue;
    std::string name;
    std::istringstream(line.substr(start.size())) >> name;
    return name;
  }
  return "";
}

}  // namespace

bool ReadCaseFile(const Alphabet& alphabet, const std::string& path, CaseFile& file) {
  std::ifstream stream(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream) {
    std::fprintf(stderr, "%s: expected a file that can be read, and could not read it.\n", path.c_str());
    return false;
  }
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  if (const std::optional<TextError> error = LoadCase(alphabet, bytes, path, file.c)) {
    std::fprintf(stderr, "%s\n", ToString(*error).c_str());
    return false;
  }
  if (bytes.empty()) std::fprintf(stderr, "%s: is empty, and so is its case.\n", path.c_str());
  const std::string text = IsText(bytes) ? content : "";
  file.switch_lines = SwitchLines(text);
  file.written_for = {.target = Comment(text, "target"), .twin = Comment(text, "twin"), .sanitizer = Comment(text, "sanitizer")};
  return true;
}

std::vector<std::string> OtherWays(const CaseFile& file, const Target& target, const Options& options, const std::string& path) {
  const WrittenFor& asked = file.written_for;
  const std::string_view twin = options.twin < 0 ? "" : target.twins[static_cast<std::size_t>(options.twin)].name;
  std::vector<std::string> sentences;
  const auto say = [&](const std::string& word, const std::string& name, const std::string& here) {
    sentences.push_back(path + ": written for " + word + " " + name + ", and this is " + here + ".");
  };
  if (!asked.target.empty() && asked.target != target.name) say("target", asked.target, std::string(target.name));
  if (!asked.twin.empty() && asked.twin != twin) {
    const std::string here = twin.empty() ? "the safe one" : std::string(twin);
    say("twin", asked.twin, here + " (HANDOFF_TWIN=" + asked.twin + " runs that)");
  }
  if (!asked.sanitizer.empty() && asked.sanitizer != SanitizerName())
    say("sanitizer", asked.sanitizer, "a build with " + std::string(SanitizerName()));
  return sentences;
}

std::string PrintWithOrigin(const Target& target, const Options& options, const Case& c) {
  std::string comment = "target: " + std::string(target.name);
  if (options.twin >= 0) comment.append("\ntwin: ").append(target.twins[static_cast<std::size_t>(options.twin)].name);
  if (SanitizerName() != "none") comment.append("\nsanitizer: ").append(SanitizerName());
  if (options.carrier != target.carrier) comment += "\ncarrier: thread";
  return PrintCase(target.alphabet, c, comment);
}

std::vector<std::string> UntakenSwitches(const CaseFile& file, const Outcome& outcome, const std::string& path) {
  std::vector<std::string> sentences;
  if (outcome.switches_lost || file.c.switches.size() != file.switch_lines.size()) return sentences;
  for (std::size_t i = 0; i < file.switch_lines.size(); ++i) {
    // A run records only what differs from the default.
    const auto& taken = outcome.switches;
    if (std::find(taken.begin(), taken.end(), file.c.switches[i]) != taken.end()) continue;
    sentences.push_back(path + ": the switch on line " + std::to_string(file.switch_lines[i]) +
                        " was never reached, or the same thread would have gone on without it.");
  }
  return sentences;
}

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
