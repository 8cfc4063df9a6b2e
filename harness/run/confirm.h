// Whether a finding of the fuzzing process fails again as the first run of a fresh process, and in which form (law 5).
//
// What ran before in the fuzzing process (caches, free lists, allocator pages) is not part of a case, so the same bytes may pass
// in a fresh process. Then other schedules of the same program are tried. Only what has failed several times in a row is
// published.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/outcome.h"

namespace handoff {

struct ConfirmLimits {
  // A finding that takes longer is kept as unconfirmed; a campaign loses more by waiting than by finding it again.
  std::chrono::milliseconds search{10'000};
  // Runs that must all fail in the same way: at a chance of one in two of failing, 5 let one in 32 through.
  int repeats = 5;
  // For making it smaller, afterwards; and how often what it has become is verified and kept meanwhile, at the soonest.
  std::chrono::milliseconds shrink{8'000};
  std::chrono::milliseconds keep{300};
  // For the search of the switch that matters, after that.
  std::chrono::milliseconds why{5'000};
};

struct Confirmation {
  bool confirmed = false;
  Case published;         // the form to keep: `listed` where that replays; the original case if not confirmed
  Outcome outcome;        // of the last failing run of `published`; of the fuzzing process if not confirmed
  std::string signature;  // of that outcome
  int executions = 0;     // cold ones
};

// The switch without which the case passes, or fails with another signature.
struct Decisive {
  std::size_t index = 0;  // into Case::switches
  Outcome without;        // of the run without it
};

struct DecisiveSearch {
  std::optional<Decisive> found;
  bool complete = true;  // each switch was left out once, or there is none
};

class Confirmer {
 public:
  // Runs a case once as the first run of a fresh process.
  using Run = std::function<Outcome(const Case&)>;
  // Identifies what was found (harness/report/signature.h).
  using SignatureOf = std::function<std::string(const Case&, const Outcome&)>;
  // Whether to stop early, because nobody waits for the result.
  using Abandoned = std::function<bool()>;

  Confirmer(Run run, SignatureOf signature_of, Abandoned abandoned, ConfirmLimits limits);

  // Programs of which one may do in a fresh process what the given one did in the fuzzing process; may be empty.
  using Programs = std::function<std::vector<Case>(const Case&)>;
  // `warm` is what the fuzzing process observed. Called once per object.
  Confirmation Confirm(const Case& original, const Outcome& warm, const Programs& others = {});

  // Makes a confirmed, `listed` case smaller, as far as the time goes; what it becomes has failed as often as what it was, with
  // the same signature. `keep` is given it whenever a while has passed, and at the end; false means that it could not be kept,
  // and counts as not found. Whether nothing more can be left out, else the time was over or nobody waits any more.
  using Keep = std::function<bool(const Confirmation&)>;
  bool Shrink(Confirmation& confirmation, const Keep& keep);

  // Looks for a decisive switch of a confirmed, `listed` case, from the last switch back: one without which it passes, else one
  // without which it fails with another signature than the confirmation's.
  DecisiveSearch FindDecisive(const Confirmation& confirmation);

 private:
  // How close a failing run is to what was found: 0 the same signature, 1 the same kind, 2 something else.
  int Distance(const Case& c, const Outcome& outcome) const;
  // Runs `c`; keeps it as the candidate if it fails closer to what was found than the one so far.
  void Try(const Case& c);
  // Publishes the candidate if one of its forms fails often enough; forgets it otherwise.
  bool Verify(Confirmation& result);
  bool FailsAlways(const Case& c, Confirmation& result);
  // Keeps `c` if it fails often enough with the confirmation's signature. Whether it did.
  bool Replace(const Case& c, Confirmation& confirmation, const Keep& keep);
  // Keeps the smallest of `smaller`, which are in order, for which that goes.
  void ReplaceBySmallest(const std::vector<Case>& smaller, Confirmation& confirmation, const Keep& keep);
  bool OutOfTime() const;

  Run run_;
  SignatureOf signature_of_;
  Abandoned abandoned_;
  ConfirmLimits limits_;
  std::chrono::steady_clock::time_point until_;
  std::string wanted_signature_;
  std::string wanted_kind_;
  std::optional<Case> candidate_;
  Outcome candidate_outcome_;
  int candidate_distance_ = 3;
  int executions_ = 0;
};

// The `n`-th other schedule of a program to try: strategies in turn, seeds from the case.
Case OtherSchedule(const Case& original, std::uint64_t n);

}  // namespace handoff
