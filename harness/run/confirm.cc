#include "harness/run/confirm.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "harness/run/shrink.h"
#include "harness/schedule/random.h"

namespace handoff {

namespace {

using Clock = std::chrono::steady_clock;

// A finding whose run cannot be written as switches: it is about two runs, or nobody decided in it.
bool HasOwnForm(const Case& c, const std::string& kind) { return c.strategy == Strategy::kFree || kind == "nondeterministic"; }

// Where the run could have switched at `sync`.
std::vector<Place> PlacesOf(const Outcome& outcome) {
  std::vector<Place> places;
  for (const TraceStep& step : outcome.trace) {
    using schedule::StepKind;
    if (step.kind == StepKind::kSwitch || step.kind == StepKind::kEnd || step.kind == StepKind::kCreate) continue;
    places.push_back({.thread = step.thread, .at = step.at});
  }
  return places;
}

}  // namespace

Case OtherSchedule(const Case& original, std::uint64_t n) {
  constexpr std::array<Strategy, 4> kTurns = {Strategy::kRandom, Strategy::kPct, Strategy::kBytes, Strategy::kPos};
  Case c = original;
  c.strategy = kTurns[n % kTurns.size()];
  c.switches.clear();
  c.bytes.clear();
  schedule::Random random{Seed(original) + n};
  for (int i = 0; i < 8; ++i) c.bytes.push_back(static_cast<std::uint8_t>(schedule::Next(random)));
  // PCT: depths 1 to 4. Random: probabilities from one in sixteen to one in two.
  const std::uint64_t turn = n / kTurns.size();
  c.parameter = c.strategy == Strategy::kPct ? static_cast<std::uint8_t>(turn % 4) : static_cast<std::uint8_t>(16U << turn % 4);
  return c;
}

Confirmer::Confirmer(Run run, SignatureOf signature_of, Abandoned abandoned, ConfirmLimits limits)
    : run_(std::move(run)), signature_of_(std::move(signature_of)), abandoned_(std::move(abandoned)), limits_(limits) {}

bool Confirmer::OutOfTime() const { return Clock::now() >= until_ || abandoned_(); }

int Confirmer::Distance(const Case& c, const Outcome& outcome) const {
  if (signature_of_(c, outcome) == wanted_signature_) return 0;
  return outcome.kind == wanted_kind_ ? 1 : 2;
}

void Confirmer::Try(const Case& c) {
  Outcome outcome = run_(c);
  ++executions_;
  if (!outcome.Failed()) return;
  const int distance = Distance(c, outcome);
  if (distance >= candidate_distance_) return;
  candidate_ = c;
  candidate_outcome_ = std::move(outcome);
  candidate_distance_ = distance;
}

bool Confirmer::FailsAlways(const Case& c, Confirmation& result) {
  std::string signature;
  Outcome outcome;
  for (int i = 0; i < limits_.repeats; ++i) {
    if (OutOfTime()) return false;
    outcome = run_(c);
    ++executions_;
    if (!outcome.Failed()) return false;
    std::string found = signature_of_(c, outcome);
    if (i > 0 && found != signature) return false;
    signature = std::move(found);
  }
  result.confirmed = true;
  result.published = c;
  result.outcome = std::move(outcome);
  result.signature = std::move(signature);
  return true;
}

bool Confirmer::Verify(Confirmation& result) {
  const Case found = *candidate_;
  const Outcome outcome = std::move(candidate_outcome_);
  candidate_.reset();
  candidate_outcome_ = Outcome{};
  candidate_distance_ = 3;
  const bool own_form = HasOwnForm(found, outcome.kind);
  // Where switches were lost, a livelock for one, the first thousands of them are mostly enough to get there.
  if (!own_form && FailsAlways(Listed(found, outcome), result)) return true;
  // A run of `free` fails by luck, however often.
  return found.strategy != Strategy::kFree && FailsAlways(found, result);
}

Confirmation Confirmer::Confirm(const Case& original, const Outcome& warm, const Programs& others) {
  until_ = Clock::now() + limits_.search;
  const Clock::time_point content = Clock::now() + limits_.search / 2;
  wanted_signature_ = signature_of_(original, warm);
  wanted_kind_ = warm.kind;
  Confirmation result;
  result.published = original;
  result.outcome = warm;
  result.signature = wanted_signature_;
  // First what was found, as it is and as it went; then chance.
  std::vector<Case> natural = {original};
  if (!warm.switches_lost && !HasOwnForm(original, warm.kind)) natural.push_back(Listed(original, warm));
  std::vector<Case> programs = {original};
  if (others) {
    std::ranges::copy(others(natural.back()), std::back_inserter(natural));
    std::ranges::copy(others(original), std::back_inserter(programs));
  }
  for (std::size_t n = 0; !OutOfTime(); ++n) {
    if (n < natural.size()) {
      Try(natural[n]);
    } else {
      const std::size_t chance = n - natural.size();
      Try(OtherSchedule(programs[chance % programs.size()], chance / programs.size()));
    }
    // The same finding at once; the same kind after the natural candidates; any other when half of the time is gone.
    const bool good =
        candidate_distance_ == 0 || (candidate_distance_ == 1 && n + 1 >= natural.size()) || Clock::now() >= content;
    if (candidate_ && good && Verify(result)) break;
  }
  result.executions = executions_;
  return result;
}

bool Confirmer::Replace(const Case& c, Confirmation& confirmation, const Keep& keep) {
  Confirmation smaller;
  if (!FailsAlways(c, smaller) || smaller.signature != confirmation.signature || !keep(smaller)) return false;
  confirmation = std::move(smaller);
  return true;
}

void Confirmer::ReplaceBySmallest(const std::vector<Case>& smaller, Confirmation& confirmation, const Keep& keep) {
  until_ = Clock::now() + limits_.search;
  // One that fails by luck came from another: further and further back.
  for (std::size_t back = 1; back <= smaller.size() && !OutOfTime(); back *= 2) {
    if (Replace(smaller[smaller.size() - back], confirmation, keep)) return;
  }
}

bool Confirmer::Shrink(Confirmation& confirmation, const Keep& keep) {
  if (!confirmation.confirmed || confirmation.published.strategy != Strategy::kListed) return true;
  until_ = Clock::now() + limits_.shrink;
  const RunTrial run = [&](const Case& c) {
    Outcome outcome = run_(c);
    ++executions_;
    const bool fails = outcome.Failed() && !outcome.switches_lost && signature_of_(c, outcome) == confirmation.signature;
    return Trial{.fails = fails, .switches = std::move(outcome.switches), .places = PlacesOf(outcome)};
  };
  std::vector<Case> smaller;  // than what is kept
  Clock::time_point next_keep = Clock::now() + limits_.keep;
  const OnSmaller on_smaller = [&](const Case& c) {
    smaller.push_back(c);
    const Clock::time_point now = Clock::now();
    if (now < next_keep) return;
    if (Replace(c, confirmation, keep)) smaller.clear();
    // It takes several runs: of slow ones less often, so that it costs a tenth of the time.
    next_keep = now + std::max<Clock::duration>(limits_.keep, 10 * (Clock::now() - now));
  };
  handoff::Shrink(confirmation.published, run, [this] { return OutOfTime(); }, on_smaller);
  const bool complete = !OutOfTime();
  ReplaceBySmallest(smaller, confirmation, keep);
  confirmation.executions = executions_;
  return complete;
}

DecisiveSearch Confirmer::FindDecisive(const Confirmation& confirmation) {
  until_ = Clock::now() + limits_.why;
  const Case& c = confirmation.published;
  DecisiveSearch search;
  for (std::size_t i = c.switches.size(); i-- > 0;) {
    search.complete = false;
    if (OutOfTime()) return search;
    Case without = c;
    without.switches.erase(without.switches.begin() + static_cast<std::ptrdiff_t>(i));
    Outcome outcome = run_(without);
    if (outcome.lost) return search;
    search.complete = true;
    const bool passes = !outcome.Failed();
    if (passes || (!search.found && signature_of_(without, outcome) != confirmation.signature))
      search.found = Decisive{.index = i, .without = std::move(outcome)};
    if (passes) break;
  }
  return search;
}

}  // namespace handoff
