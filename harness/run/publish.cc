#include "harness/run/publish.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "harness/case/binary.h"
#include "harness/case/edit.h"
#include "harness/case/text.h"
#include "harness/report/explanation.h"
#include "harness/report/signature.h"
#include "harness/run/artifact.h"
#include "harness/run/describe.h"
#include "harness/run/ends.h"
#include "harness/run/stack_text.h"

// Defined by the linker for targets of other projects (handoff_target in kinds.cmake), which scripts/handoff does not know.
extern "C" const char handoff_outside_of_tree __attribute__((weak));

namespace handoff {

namespace {

// For one cold run of a confirmation: most of what waits longer waits for ever.
constexpr int kColdSeconds = 5;

// As a shell reads it back as one word.
std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// " at capsule.cc:12": where in the code a switch of the case was made.
std::string PlaceOf(const Finding& finding, const Switch& decision) {
  for (std::size_t i = 0; i < finding.trace.size() && i < finding.places.size(); ++i) {
    const TraceStep& step = finding.trace[i];
    const bool same = step.kind == schedule::StepKind::kSwitch && step.thread == decision.thread && step.at == decision.at;
    if (same && !finding.places[i].empty()) return " at " + finding.places[i];
  }
  return "";
}

std::string Counted(unsigned count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

// "thread A does not give way to B in its operation 2 (consume slot=0) at capsule.cc:12, behind 1 sync point and 17 accesses"
std::string DescribeWithout(const Alphabet& alphabet, const Finding& finding, const Switch& decision) {
  const Case& c = finding.recorded;
  const std::string to(1, ThreadName(decision.to));
  if (decision.thread == kGate) return "another thread than " + to + " runs first";
  const std::string from(1, ThreadName(decision.thread));
  std::string text =
      "thread " + from + " does not give way to " + to + " in its operation " + std::to_string(decision.at.operation);
  if (decision.thread < c.threads.size() && decision.at.operation < c.threads[decision.thread].size()) {
    text += " (" + PrintOperation(alphabet, c.threads[decision.thread][decision.at.operation]) + ")";
  }
  return text + PlaceOf(finding, decision) + ", behind " + Counted(decision.at.sync, "sync point", "sync points") + " and " +
         Counted(decision.at.access, "access", "accesses");
}

// `ended`: why a search that is not complete is not.
std::string DescribeWhy(const Alphabet& alphabet, const Finding& finding, const DecisiveSearch& search, const char* ended) {
  const Case& c = finding.recorded;
  if (search.found) {
    const Outcome& without = search.found->without;
    const std::string other = (without.kind == finding.kind ? "another " : "") + without.kind;
    return (without.Failed() ? "It fails in another way (" + other + ") if " : "It passes if ") +
           DescribeWithout(alphabet, finding, c.switches[search.found->index]) + ", and all other decisions stay the same.";
  }
  if (c.strategy != Strategy::kListed) return "Not known: its schedule is not written as switches, which could be left out.";
  if (c.switches.empty()) {
    std::string text = "No change of order is needed: it fails without any switch, each thread after the one before it.";
    if (finding.kind == "data-race")
      text += " A data race is that nothing in the code orders the two accesses, whichever comes first.";
    return text;
  }
  if (!search.complete) return std::string("Not known: ") + ended + " before each of its switches had been left out once.";
  if (c.switches.size() == 1) return "No switch decides: it fails without its only one as well.";
  return "No single switch decides: it fails as well without any one of its " + std::to_string(c.switches.size()) + ".";
}

// Whether a file is a case in text form, which is kept as it is.
bool IsTextFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string start(64, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  return IsText(std::span(reinterpret_cast<const std::uint8_t*>(start.data()), static_cast<std::size_t>(stream.gcount())));
}

// A path of a program, as it can be called from anywhere.
std::string ThisProgram() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "TARGET" : path.string();
}

}  // namespace

Publisher::Publisher(const Target& target, const Options& options, int warm_report)
    : target_(target), options_(options), warm_report_(warm_report) {}

std::string_view Publisher::TwinName() const {
  return options_.twin < 0 ? "" : target_.twins[static_cast<std::size_t>(options_.twin)].name;
}

Publisher::Commands Publisher::CommandsFor(const std::string& path) const {
  if (&handoff_outside_of_tree != nullptr) return CommandsOutside(path);
  std::string tail = ShellWord(path);
  tail.append(" --target ").append(target_.name);
  if (SanitizerName() != "none") tail.append(" --sanitizer ").append(SanitizerName());
  if (options_.twin >= 0) tail.append(" --twin ").append(TwinName());
  if (options_.carrier != target_.carrier) tail += " --carrier thread";
  const std::string regressions = "corpus/" + std::string(target_.name) + "/regression";
  const std::string test = "scripts/handoff test --only regression --target " + std::string(target_.name);
  const bool is_test = path.find(regressions + "/") != std::string::npos && IsTextFile(path);
  return {.replay = "scripts/handoff replay " + tail,
          .explain = "scripts/handoff explain " + tail,
          .test = is_test ? test
                          : "mkdir -p " + regressions + "\n  scripts/handoff explain --text " + tail + " > " + regressions +
                                "/NAME.txt\n  " + test};
}

Publisher::Commands Publisher::CommandsOutside(const std::string& path) const {
  std::string program;
  if (options_.twin >= 0) program.append("HANDOFF_TWIN=").append(TwinName()).append(" ");
  if (options_.carrier != target_.carrier) program += "HANDOFF_CARRIER=thread ";
  program += ShellWord(ThisProgram()) + " ";
  const std::string file = ShellWord(path);
  const std::string test =
      IsTextFile(path) ? program + file : "HANDOFF_PRINT_TEXT=1 " + program + file + " > NAME.txt\n  " + program + "NAME.txt";
  return {.replay = program + file, .explain = "HANDOFF_WHY=1 " + program + file, .test = test};
}

Finding Publisher::FindingOf(const Case& c, const Outcome& outcome) const {
  Finding finding;
  finding.kind = outcome.kind;
  finding.target = target_.name;
  finding.twin = TwinName();
  if (options_.twin >= 0) finding.breach = target_.twins[static_cast<std::size_t>(options_.twin)].breach;
  finding.has_twins = !target_.twins.empty();
  finding.rule = outcome.rule;
  finding.detail = outcome.detail;
  finding.sites = outcome.sites;
  finding.report = outcome.text;
  finding.recorded = c;
  finding.trace = outcome.trace;
  finding.steps_lost = outcome.steps_lost;
  finding.where = outcome.where;
  finding.trace_hash = outcome.hash;
  finding.thread = outcome.thread;
  finding.at = outcome.at;
  return finding;
}

std::string Publisher::SignatureOf(const Case& c, const Outcome& outcome) const {
  return Signature(FindingOf(c, outcome), target_.alphabet);
}

bool Publisher::ReadRequest(const Exchange& exchange, Case& c) const {
  if (LoadCase(target_.alphabet, std::span(exchange.case_bytes, exchange.case_size), "input", c)) return false;
  Override(options_, c);
  return true;
}

Confirmer Publisher::MakeConfirmer(ColdRunner& runner, const std::string& kind) const {
  const bool repeat = kind == "nondeterministic";
  return {[&runner, repeat](const Case& c) { return runner.Run(c, kColdSeconds, repeat); },
          [this](const Case& c, const Outcome& outcome) { return SignatureOf(c, outcome); },
          [&runner] { return runner.Abandoned(); }, ConfirmLimits{.search = std::chrono::seconds(options_.confirm_seconds)}};
}

// Whether the case is in a file now, which `exchange` names. The file that it named before goes, if it was `ours`: if there was
// none of that name when we came.
static bool WriteCase(const Case& c, Answer answer, Exchange& exchange, bool& ours) {
  static char path[kMaxPath];
  if (IsLeaving(exchange)) return false;
  const Kept kept = ReadKept(exchange);
  const std::string before = kept.answer == Answer::kNone ? "" : kept.path;
  const std::vector<std::uint8_t> bytes = EncodeCase(c);
  const char* name = answer == Answer::kConfirmed ? "crash" : "unconfirmed";
  bool existed = false;
  if (!WriteArtifact(name, bytes.data(), bytes.size(), path, &existed)) return false;
  Keep(exchange, answer, path);
  if (ours && !before.empty() && before != path && !IsLeaving(exchange)) unlink(before.c_str());
  ours = !existed;
  return true;
}

namespace {
// Ends this process, by the alarm's default action, when it takes far longer than anybody waits for an answer: all that it does
// is bounded, but for a symbolizer that hangs.
class Limit {
 public:
  explicit Limit(int confirm_seconds) { alarm(static_cast<unsigned>(3 * kAnswerSeconds + confirm_seconds)); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { alarm(0); }
};
}  // namespace

void Publisher::Handle(ColdRunner& runner, Exchange& exchange) {
  const Limit limit(options_.confirm_seconds);
  Case original;
  if (!ReadRequest(exchange, original)) return;
  const Outcome warm = ReadObservation(exchange.warm, warm_report_ < 0 ? "" : ReadReport(warm_report_));
  if (warm.end != EndKind::kTimeout && !options_.minimizes) {
    ConfirmAndWrite(runner, original, warm, exchange);
    return;
  }
  // As it is: a time-out takes too long to be tried again, and a minimising libFuzzer wants the very input that it gave.
  static char path[kMaxPath];
  const char* name = warm.end == EndKind::kTimeout ? "timeout" : "crash";
  if (WriteArtifact(name, exchange.case_bytes, exchange.case_size, path)) Keep(exchange, Answer::kConfirmed, path);
  Print(original, warm, {}, path);
}

void Publisher::ConfirmAndWrite(ColdRunner& runner, const Case& original, const Outcome& warm, Exchange& exchange) const {
  Confirmer confirmer = MakeConfirmer(runner, warm.kind);
  // A fresh process hears each request for an end of the interpreter, one that has run many cases few of them.
  const auto unheard = [this](const Case& c) { return WithoutUnchosen(target_.alphabet, c); };
  Confirmation result = confirmer.Confirm(original, warm, unheard);
  const Answer answer = result.confirmed ? Answer::kConfirmed : Answer::kUnconfirmed;
  bool ours = false;
  const auto keep = [&](const Confirmation& c) { return WriteCase(c.published, answer, exchange, ours); };
  Known known{.confirmed = result.confirmed};
  // The file first: what follows takes seconds, and somebody may be about to stop us.
  if (keep(result)) known.shortened = confirmer.Shrink(result, keep);
  if (result.confirmed) known.decisive = confirmer.FindDecisive(result);
  known.interrupted = runner.Abandoned();
  std::string path = ReadKept(exchange).path;
  if (path.empty()) {  // it leaves without waiting for us, and keeps its case as it is (ends.cc)
    static char own[kMaxPath];
    NameArtifact("unconfirmed", exchange.case_bytes, exchange.case_size, own);
    path = own;
  }
  Print(result.published, result.outcome, known, path);
}

void Publisher::HandleVanished(ColdRunner& runner, Exchange& exchange) {
  const Limit limit(options_.confirm_seconds);
  Case original;
  if (!ReadRequest(exchange, original)) return;
  runner.ForgetCaller();
  exchange.leaving = 0;  // it has left, without having read of a file: it was interrupted, or killed
  // Only what fails again is a finding: the fuzzing process may have been killed by its owner.
  const Outcome cold = runner.Run(original, kColdSeconds);
  if (cold.end != EndKind::kFinding) return;
  ConfirmAndWrite(runner, original, cold, exchange);
  const Kept kept = ReadKept(exchange);
  if (kept.answer == Answer::kConfirmed) std::fprintf(stderr, "Test unit written to %s\n", kept.path);
}

void Publisher::PrintReplay(ColdRunner& runner, const Case& c, const Outcome& outcome, const std::string& path) const {
  Known known;
  if (options_.why) {
    Confirmation confirmation;
    confirmation.published = c;
    confirmation.signature = SignatureOf(c, outcome);
    known.decisive = MakeConfirmer(runner, outcome.kind).FindDecisive(confirmation);
  }
  Print(c, outcome, known, path);
}

void Publisher::Print(const Case& c, const Outcome& outcome, const Known& known, const std::string& path) const {
  Finding finding = FindingOf(c, outcome);
  finding.places = PlacesText(outcome.places);
  const Commands commands = CommandsFor(path);
  const char* ended = known.interrupted ? "this was interrupted" : "the time was over";
  const std::string why = known.decisive ? DescribeWhy(target_.alphabet, finding, *known.decisive, ended) : "";
  const bool cut_short = known.interrupted && known.decisive && !known.decisive->complete;
  const std::string text = Explain(
      finding, target_.alphabet,
      {.why = why, .explain = commands.explain, .replay = commands.replay, .test = commands.test, .cut_short = cut_short});
  if (!known.confirmed)
    std::fputs("handoff: not confirmed: this did not fail again in fresh processes within the time\n", stderr);
  if (!known.shortened) std::fprintf(stderr, "handoff: %s before nothing more could be left out of the case\n", ended);
  std::fputs(text.c_str(), stderr);
}

}  // namespace handoff
