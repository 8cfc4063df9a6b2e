#include "harness/report/explanation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "harness/report/interleaving.h"
#include "harness/report/signature.h"
#include "harness/report/trace_reader.h"

namespace handoff {
namespace {

constexpr std::size_t kIndent = 2;

// Appends words, broken at blanks to kReportWidth. The first line goes on where `out` stands, the others start at `indent`.
void AddWrapped(std::string_view text, std::size_t indent, std::string& out) {
  std::size_t column = indent;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!first && column + 1 + word.size() > kReportWidth) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

void AddField(std::string_view name, std::string_view value, std::string& out) {
  constexpr std::size_t kColumn = 12;
  if (value.empty()) return;
  std::string label = std::string(kIndent, ' ').append(name).append(":");
  label.resize(std::max(label.size() + 1, kColumn), ' ');
  out += label;
  AddWrapped(value, kColumn, out);
}

// "write by B in Capsule::Rename, capsule.cc:12 (dlpack_capsule)", "A for mutex in Transfer, bank.cc:7 (bank)". `thread`: whose
// access it is, if that is known.
std::string SiteText(const Site& site, int thread = -1) {
  std::string text = site.thread < 0 ? "" : std::string(1, ThreadName(site.thread)) + " for ";
  if (!site.access.empty()) text += site.access + " ";
  if (thread >= 0) text.append("by ").append(1, ThreadName(thread)).append(" ");
  text += "in " + (site.function.empty() ? std::string("a function without a name") : site.function);
  if (!site.place.empty()) text += ", " + site.place;
  return text + " (" + site.module + ")";
}

// The thread that made the access of a site; -1 if unknown, or if the site is no access.
int ThreadOf(const Finding& finding, std::size_t site) {
  if (finding.sites[site].thread >= 0 || finding.sites[site].access.empty()) return -1;
  return site == 0 ? FailingThread(finding) : OtherThread(finding);
}

std::string_view SiteLabel(const Finding& finding, std::size_t site) {
  if (finding.kind == "deadlock") return "waits";
  return site == 0 ? "access" : "other";
}

std::string Hexadecimal(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15U];
  return text;
}

void AddFinding(const Finding& finding, std::string& out) {
  out += "FINDING\n";
  AddField("kind", finding.kind, out);
  AddField("target", finding.target, out);
  const std::string twin = finding.twin.empty() ? "none: this is the safe one" : finding.twin;
  if (finding.has_twins) AddField("twin", finding.breach.empty() ? twin : twin + ": " + finding.breach, out);
  AddField("rule", finding.rule, out);
  AddField("detail", finding.detail, out);
  for (std::size_t i = 0; i < finding.sites.size(); ++i) {
    AddField(SiteLabel(finding, i), SiteText(finding.sites[i], ThreadOf(finding, i)), out);
  }
  if (!finding.where.function.empty()) AddField("at", SiteText(finding.where), out);
  AddField("trace", "hash " + Hexadecimal(finding.trace_hash), out);
}

// Who found what no sanitizer reported.
std::string Finder(const Finding& finding) {
  static constexpr std::array<std::string_view, 3> kScheduler = {"deadlock", "livelock", "harness"};
  static constexpr std::array<std::string_view, 6> kSignals = {"segv", "bus", "ill", "fpe", "abort", "exit"};
  const auto is_one_of = [&](const auto& kinds) { return std::find(kinds.begin(), kinds.end(), finding.kind) != kinds.end(); };
  if (is_one_of(kScheduler)) return "the scheduler";
  if (is_one_of(kSignals)) return "the handler of signals and exits";
  if (finding.kind == "timeout") return "the watchdog";
  if (finding.kind == "nondeterministic") return "the comparison of two runs of the same case";
  return "the oracle for " + finding.kind;
}

bool IsFrame(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  return start != std::string_view::npos && line[start] == '#';
}

// The harness's own frames below an operation, or below the making of a thread or a subject: the same in every report.
bool IsDriver(std::string_view frame) {
  static constexpr std::array<std::string_view, 9> kDrivers = {
      "handoff::Executor::",   "schedule::RunOperations(", "schedule::NewFiber(", "::MakeCarriers(",
      "handoff::ColdRunner::", "handoff::StartRunner",     "MakeSubject(",        "LLVMFuzzer",
      "fuzzer::FuzzerDriver"};
  return std::any_of(kDrivers.begin(), kDrivers.end(),
                     [&](std::string_view name) { return frame.find(name) != std::string_view::npos; });
}

// The sanitizer numbers threads in its own way. To AddressSanitizer all fibers are the main thread.
void AddNumbers(const Finding& finding, std::string& out) {
  std::string names;
  for (std::size_t i = 0; i < finding.sites.size(); ++i) {
    const int number = finding.sites[i].reported;
    const int thread = ThreadOf(finding, i);
    if (number < 0 || thread < 0) continue;
    if (number == 0) {
      out += "  All threads of the program are T0 here, fibers of one thread.\n";
      return;
    }
    names.append(names.empty() ? "" : ", ")
        .append("T")
        .append(std::to_string(number))
        .append(" is ")
        .append(1, ThreadName(thread));
  }
  if (!names.empty()) out.append("  ").append(names).append(".\n");
}

// Copied line by line, without what is below the first driver of a stack. A token of the sanitizer's own would be taken for ours.
void AddReport(const Finding& finding, std::string& out) {
  out += "REPORT\n";
  std::string_view rest = finding.report;
  if (rest.empty()) AddWrapped("none: found by " + Finder(finding), kIndent, out.append(kIndent, ' '));
  AddNumbers(finding, out);
  bool below_driver = false;
  std::size_t heading = std::string::npos;  // where in `out` the line begins that a stack would follow
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    below_driver = IsFrame(line) && (below_driver || IsDriver(line));
    if (below_driver && heading != std::string::npos) out.resize(heading);  // of a stack that is the harness's altogether
    const bool second_blank = line.empty() && out.ends_with("\n\n");
    if (below_driver || second_blank || line.starts_with("DEDUP_TOKEN:")) continue;
    heading = line.ends_with(':') ? out.size() : std::string::npos;
    if (IsFrame(line)) line = line.substr(0, line.find(" (BuildId: "));
    out.append(line).append("\n");
  }
}

void AddSection(std::string_view heading, std::string_view text, std::string& out) {
  out.append(heading).append("\n").append(kIndent, ' ');
  AddWrapped(text, kIndent, out);
}

// Never broken: it is to be copied.
void AddCommand(std::string_view heading, std::string_view command, std::string& out) {
  out.append(heading).append("\n").append(kIndent, ' ').append(command).append("\n");
}

void AddWhy(const ExplanationTexts& texts, std::string& out) {
  const bool looked = !texts.why.empty();
  AddSection(
      "WHY",
      looked ? texts.why : "Not looked for here. This looks for the smallest change of order that makes the case pass:", out);
  if (looked && texts.cut_short) out.append(kIndent, ' ').append("This looks again:\n");
  if (!looked || texts.cut_short) out.append(kIndent, ' ').append(texts.explain).append("\n");
}

}  // namespace

std::string Explain(const Finding& finding, const Alphabet& alphabet, const ExplanationTexts& texts) {
  std::string out;
  AddFinding(finding, out);
  out += "\nINTERLEAVING\n" + Interleaving(finding, alphabet) + "\n";
  AddWhy(texts, out);
  out += '\n';
  AddReport(finding, out);
  out += '\n';
  AddCommand("REPLAY", texts.replay, out);
  out += '\n';
  AddCommand("TEST", texts.test, out);
  return out + "\n" + DedupTokenLine(Signature(finding, alphabet));
}

}  // namespace handoff
