#include "harness/run/runner.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "harness/case/binary.h"
#include "harness/case/text.h"
#include "harness/run/artifact.h"
#include "harness/run/describe.h"
#include "harness/run/ends.h"
#include "harness/run/publish.h"
#include "harness/run/replay.h"
#include "harness/run/sanitizer_defaults.h"

namespace handoff {

namespace {

// One input in so many, chosen by its hash, runs twice: enough to notice within seconds that a subject is not repeatable, and
// cheap enough to leave on (law 5).
constexpr std::uint64_t kRepeatOneIn = 64;
// Bytes hashed for it, at the end of an input: where the schedule is. A hash of all of a large one takes as long as a run of it.
constexpr std::size_t kRepeatHashed = 256;

bool RunsTwice(const std::uint8_t* data, std::size_t size) {
  const std::size_t hashed = std::min(size, kRepeatHashed);
  return HashBytes(data + size - hashed, hashed) % kRepeatOneIn == 0;
}

std::unique_ptr<Subject> MakeSubject(const Target& target, const Options& options, const char* program) {
  std::unique_ptr<Subject> subject = target.make(options.twin);
  subject->Initialize(program);
  return subject;
}

}  // namespace

Runner::Runner(const Target& target, Options options, const char* program)
    : target_(target),
      options_(std::move(options)),
      subject_(MakeSubject(target, options_, program)),
      executor_(*subject_, options_.carrier),
      exchange_(NewExchange()) {
  KeepSanitizerDefaults();
  SetArtifactPlace(options_.artifact_prefix.c_str(), options_.exact_artifact_path.c_str());
}

void Runner::TakeOverEnds(Role role, int socket, int report_file) {
  place_ = {.role = role,
            .exchange = exchange_,
            .socket = socket,
            .report_file = report_file,
            .timeout_seconds = options_.timeout_seconds,
            .answer_seconds = kAnswerSeconds + options_.confirm_seconds};
  PrepareEnds(place_);
  InstallSignals();
}

void Runner::StartFuzzing() {
  static const Runner* fuzzing = nullptr;
  fuzzing = this;
  std::atexit([] { fuzzing->PrintClosing(); });
  KeepOutput();
  // The sanitizers' reports go to a file in memory, so that the finding can quote them.
  int report_file = memfd_create("handoff-report", MFD_CLOEXEC);
  int socket = -1;
  if (exchange_ != nullptr && !options_.merges) {
    auto publisher = std::make_unique<Publisher>(target_, options_, report_file);
    socket = StartColdParent(executor_, *subject_, *exchange_, *publisher);
    handler_ = std::move(publisher);
  }
  TakeOverEnds(socket >= 0 ? Role::kWarm : Role::kAlone, socket, report_file);
}

bool Runner::DifferenceIsExpected(const Case& c) const {
  return c.strategy == Strategy::kFree || (target_.warm_access_may_differ && EffectiveGranularity(c) != Granularity::kOp);
}

void Runner::CheckRepeatable(std::uint64_t first_hash) {
  ++run_twice_;
  if (executor_.Repeats(case_, first_hash)) return;
  if (!DifferenceIsExpected(case_)) EndNondeterministic();
  ++differences_expected_;
}

void Runner::PrintClosing() const {
  // A finding does not come here.
  const bool searched = !first_input_ && !options_.merges && !options_.minimizes;
  if (searched && options_.twin >= 0) {
    std::fprintf(stderr, "handoff: twin %s was not found\n",
                 std::string(target_.twins[static_cast<std::size_t>(options_.twin)].name).c_str());
  }
  if (differences_expected_ == 0) return;
  std::fprintf(
      stderr,
      "handoff: %llu of %llu executions that were run twice took other decisions the second time: expected inside CPython, "
      "whose caches and free lists change. Findings are confirmed in fresh processes.\n",
      static_cast<unsigned long long>(differences_expected_), static_cast<unsigned long long>(run_twice_));
}

void Runner::RunInput(const std::uint8_t* data, std::size_t size) {
  if (first_input_) {
    // Again: libFuzzer has installed its own handlers and death callback since StartFuzzing.
    PrepareEnds(place_);
    InstallSignals();
    first_input_ = false;
  }
  const std::span<const std::uint8_t> input(data, size);
  if (const std::optional<TextError> error = LoadCase(target_.alphabet, input, "a text case of the corpus", case_)) {
    constexpr int kSaid = 5;
    if (++unreadable_ <= kSaid) std::fprintf(stderr, "handoff: passed over: %s\n", ToString(*error).c_str());
    return;
  }
  Override(options_, case_);
  // What is written if this is the end: the input, unless the case is no longer what the input says, or says less.
  if (size == 0 || size > kMaxCaseBytes || HasOverrides(options_) || IsText(input)) {
    const std::vector<std::uint8_t> encoded = EncodeCase(case_);
    BeginExecution(encoded.data(), encoded.size());
  } else {
    BeginExecution(data, size);
  }
  const std::uint64_t hash = executor_.Execute(case_).hash;
  if (RunsTwice(data, size) && case_.strategy != Strategy::kFree) CheckRepeatable(hash);
  EndExecution();
}

static void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
}

int Runner::ReplayCold() {
  if (exchange_ == nullptr) {
    std::fprintf(stderr, "expected memory to share with a fork, and the system refuses it: raise the memory limit.\n");
    return kExitUsage;
  }
  TakeOverEnds(Role::kAlone, -1, -1);
  ColdRunner cold(executor_, *subject_, *exchange_, -1);
  const Publisher publisher(target_, options_, -1);
  ReplaySummary summary;
  int code = 0;
  for (const std::string& path : options_.files) {
    CaseFile file;
    if (!ReadCaseFile(target_.alphabet, path, file)) return kExitUsage;
    Override(options_, file.c);
    PrintNotes(OtherWays(file, target_, options_, path));
    const Case& c = file.c;
    ReplayedFile& replayed = summary.files.emplace_back();
    replayed.path = path;
    bool fits = true;
    for (int i = 0; i < options_.runs && code == 0; ++i) {
      const bool check = i == 0 && !DifferenceIsExpected(c);
      const Outcome outcome = cold.Run(c, options_.timeout_seconds, check);
      if (outcome.lost) {
        std::fprintf(stderr, "%s: it could not be run: %s.\n", path.c_str(), outcome.detail.c_str());
        return kExitUsage;
      }
      Add(outcome, replayed);
      if (!outcome.Failed()) {
        if (i > 0 || c.strategy != Strategy::kListed) continue;
        const std::vector<std::string> untaken = UntakenSwitches(file, outcome, path);
        PrintNotes(untaken);
        fits = untaken.empty();
        continue;
      }
      replayed.signature = publisher.SignatureOf(c, outcome);
      publisher.PrintReplay(cold, c, outcome, path);
      code = outcome.end == EndKind::kTimeout ? kExitTimeout : kExitFinding;
    }
    if (code != 0) break;
    std::fprintf(stderr, "%s: did not fail in %d run%s.%s\n", path.c_str(), replayed.runs, replayed.runs == 1 ? "" : "s",
                 fits ? "" : " Its schedule is not one of this code any more: it tests little here.");
  }
  if (!options_.replay_json.empty() && !Write(summary, options_.replay_json)) return kExitUsage;
  return code;
}

// What a case that passes in this build says nothing about; "" if it is built to notice all.
static const char* NotNoticedHere() {
  if (SanitizerName() != "none") return "";
  return " (built without a sanitizer: data races and uses of freed memory are not noticed, and switches at accesses not made)";
}

int Runner::ReplayHere() {
  TakeOverEnds(Role::kAlone, -1, -1);
  for (const std::string& path : options_.files) {
    CaseFile file;
    if (!ReadCaseFile(target_.alphabet, path, file)) return kExitUsage;
    Override(options_, file.c);
    PrintNotes(OtherWays(file, target_, options_, path));
    BeginExecution(nullptr, 0);
    executor_.Execute(file.c);
    EndExecution();
    std::fprintf(stderr, "%s: passed%s\n", path.c_str(), NotNoticedHere());
  }
  return 0;
}

namespace {
// The exit code.
int PrintFiles(const Target& target, const Options& options) {
  for (const std::string& path : options.files) {
    CaseFile file;
    if (!ReadCaseFile(target.alphabet, path, file)) return kExitUsage;
    Override(options, file.c);
    std::fputs(PrintWithOrigin(target, options, file.c).c_str(), stdout);
  }
  return std::fflush(stdout) == 0 ? 0 : kExitUsage;
}

// What is wrong with the tables of a target, in a sentence; "" if nothing is.
std::string MistakeIn(const Target& target) {
  const std::string_view own[] = {target.name};
  std::vector<std::string_view> twins = {"safe"};  // what the command calls the target itself
  for (const Twin& twin : target.twins) twins.push_back(twin.name);
  for (const std::string& mistake :
       {MistakeInNames("the target", own), MistakeIn(target.alphabet), MistakeInNames("each twin", twins)}) {
    if (!mistake.empty()) return mistake;
  }
  return "";
}
}  // namespace

Runner& StartRunner(const Target& target, const std::vector<std::string>& arguments, const char* program) {
  const auto environment = [](const char* name) -> const char* { return std::getenv(name); };
  std::variant<Options, std::string> read = ReadOptions(target, arguments, environment);
  if (const std::string* error = std::get_if<std::string>(&read)) {
    std::fprintf(stderr, "%s\n", error->c_str());
    std::exit(kExitUsage);
  }
  if (const std::string misspelt = MisspeltVariable(environ); !misspelt.empty()) {
    std::fprintf(stderr, "%s\n", misspelt.c_str());
    std::exit(kExitUsage);
  }
  if (const std::string mistake = MistakeIn(target); !mistake.empty()) {
    std::fprintf(stderr, "%s: %s.\n", std::string(target.name).c_str(), mistake.c_str());
    std::exit(kExitUsage);
  }
  if (std::get<Options>(read).describe) {
    std::printf("%s\n", Describe(target).c_str());
    std::exit(std::fflush(stdout) == 0 ? 0 : kExitUsage);
  }
  if (std::get<Options>(read).print_text) std::exit(PrintFiles(target, std::get<Options>(read)));
  return *new Runner(target, std::get<Options>(std::move(read)), program);
}

}  // namespace handoff
