#include "harness/run/outcome.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/report/sanitizer_report.h"
#include "harness/run/executor.h"
#include "harness/run/stack_text.h"

namespace handoff {

namespace {

// A string for the rest of the process: rows of a trace have literals, and their copies must live as long.
const char* Keep(const char* text) {
  if (text[0] == '\0') return nullptr;
  static auto& kept = *new std::set<std::string, std::less<>>;
  return kept.insert(text).first->c_str();
}

// What a failing thread knows when only a sanitizer can tell more (sanitizer_hooks.cc).
constexpr std::array<std::string_view, 3> kGenericKinds = {"data-race", "memory-error", "sanitizer"};

constexpr std::size_t kMaxWords = 400;

// Whether a line is the sanitizer's own word about a report that comes, or about its symbolizer.
bool IsSanitizersOwn(std::string_view line) {
  return line.ends_with("Sanitizer:DEADLYSIGNAL") ||
         (line.starts_with("==") && line.find("==WARNING: ") != std::string_view::npos);
}

std::string WithoutSanitizersOwn(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!IsSanitizersOwn(line)) rest.append(line).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rest;
}

// Without rulers and white space at both ends; on one line.
std::string Trimmed(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto first = text.find_first_not_of(" =");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" =") + 1 - first);
}

void Refine(Outcome& outcome) {
  std::optional<SanitizerReport> report = ParseSanitizerReport(outcome.text, program_invocation_short_name);
  if (!report) return;
  for (const std::string_view kind : kGenericKinds) {
    if (outcome.kind == kind) outcome.kind = report->kind;
  }
  // What was printed before the report, an assertion's message for one, would be lost with the rest.
  const std::string before = Trimmed(WithoutSanitizersOwn(outcome.text.substr(0, outcome.text.find(report->text))));
  if (outcome.detail.empty()) outcome.detail = before.substr(0, kMaxWords);
  outcome.sites = std::move(report->sites);
  outcome.text = std::move(report->text);
}

// Of what no sanitizer reports. What the process printed comes behind.
void UseStacks(Outcome& outcome) {
  if (outcome.kind == "deadlock") outcome.sites = WaitSites(outcome.stacks);
  if (outcome.kind != "deadlock") outcome.where = StandSite(outcome.stacks);
  std::string text = StacksText(outcome.stacks);
  if (!text.empty()) outcome.text = std::move(text) + (outcome.end == EndKind::kTimeout ? "" : outcome.text);
}

}  // namespace

Outcome ReadObservation(const Observation& observation, std::string text) {
  Outcome outcome;
  outcome.end = observation.end;
  outcome.kind = observation.kind;
  outcome.rule = observation.rule;
  outcome.detail = observation.detail;
  outcome.text = std::move(text);
  outcome.thread = observation.thread;
  outcome.at = observation.at;
  outcome.hash = observation.hash;
  outcome.decisions = observation.decisions;
  outcome.switches_lost = observation.switches_lost != 0;
  outcome.switches.assign(observation.switches, observation.switches + observation.switch_count);
  outcome.steps_lost = observation.steps_lost;
  outcome.trace.assign(observation.steps, observation.steps + observation.step_count);
  for (std::size_t i = 0; i < outcome.trace.size(); ++i) outcome.trace[i].what = Keep(observation.whats[i]);
  outcome.places.assign(observation.places, observation.places + observation.step_count);
  outcome.stacks.assign(observation.stacks, observation.stacks + observation.stack_count);
  outcome.profile = observation.profile;
  if (outcome.Failed()) Refine(outcome);
  if (outcome.Failed() && outcome.sites.empty() && !outcome.stacks.empty()) UseStacks(outcome);
  return outcome;
}

std::string ReadReport(int file, std::size_t limit) {
  std::string text;
  char buffer[4096];
  while (text.size() < limit) {
    const ssize_t n = pread(file, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

Case Listed(const Case& c, const Outcome& outcome) {
  Case listed = c;
  listed.strategy = Strategy::kListed;
  listed.granularity = EffectiveGranularity(c);
  listed.parameter = 0;  // the other strategy's
  listed.bytes.clear();
  listed.switches = outcome.switches;
  return listed;
}

}  // namespace handoff
