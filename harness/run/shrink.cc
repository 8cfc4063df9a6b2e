#include "harness/run/shrink.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "harness/case/binary.h"
#include "harness/case/edit.h"
#include "harness/run/confirm.h"

namespace handoff {
namespace {

// Runs that a search for another schedule of one program may take. Most runs take 3 to 10 ms, and a case of six operations has
// some fifteen smaller programs.
constexpr std::size_t kRunsPerSearch = 60;

// Schedules by chance that are tried of each smaller program: two of each strategy.
constexpr std::uint64_t kByChance = 8;

// A case of so many switches may need fewer when operations change threads, but then at other places.
constexpr std::size_t kFewSwitches = 4;

// One kind of thing that a case has a number of.
struct Part {
  std::size_t (*count)(const Case& c);
  void (*erase)(Case& c, std::size_t index);
};

std::size_t CountThreads(const Case& c) { return c.threads.size(); }

std::size_t CountOperations(const Case& c) { return OperationCount(c); }

// Numbered through, thread by thread.
void EraseNumberedOperation(Case& c, std::size_t index) {
  std::size_t thread = 0;
  for (; index >= c.threads[thread].size(); ++thread) index -= c.threads[thread].size();
  EraseOperation(c, thread, index);
}

std::size_t CountSwitches(const Case& c) { return c.switches.size(); }
void EraseSwitch(Case& c, std::size_t index) { c.switches.erase(c.switches.begin() + static_cast<std::ptrdiff_t>(index)); }

constexpr Part kParts[] = {{CountThreads, EraseThread}, {CountOperations, EraseNumberedOperation}, {CountSwitches, EraseSwitch}};

class Shrinker {
 public:
  Shrinker(const Case& c, const RunTrial& run, const IsOver& is_over, const OnSmaller& on_smaller)
      : original_(c), best_(c), run_(run), is_over_(is_over), on_smaller_(on_smaller) {}

  void Run() {
    Start();
    // What is easier to read comes later: it takes a run for each detail.
    while (TakeSmallerPrograms() || TakeByChance(SmallerPrograms(best_))) {
    }
    while (!is_over_() && Step()) {
    }
  }

 private:
  // Runs the case itself: switches that were not taken go at once.
  void Start() {
    if (is_over_()) return;
    Trial trial = Remember(original_);
    if (trial.fails) Keep(original_, std::move(trial.switches));
  }

  // The cheapest first; what needs many runs only when nothing else helps. Whether the case became smaller.
  bool Step() { return TakeSmallerPrograms() || Simplify() || TakeOtherSchedule(); }

  bool TakeSmallerPrograms() {
    bool changed = false;
    for (const Part& part : kParts) changed = LeaveOut(part) || changed;
    while (TakeOneOf(SmallerPrograms(best_)) || TakeOneOf(WithoutPairs(best_))) changed = true;
    return changed;
  }

  // All of it before smaller programs are tried again: each of those is another one then.
  bool Simplify() {
    bool changed = false;
    while (TakeOneOf(FewerSwitches(best_)) || TakeOneOf(SimplerSchedules(best_))) changed = true;
    while (TakeOneOf(SmallerArguments(best_))) changed = true;
    return changed;
  }

  // From the end, where what came behind the failure lies.
  bool LeaveOut(const Part& part) {
    bool changed = false;
    for (std::size_t size = std::max<std::size_t>(part.count(best_) / 2, 1); size > 0; size /= 2) {
      for (std::size_t end = part.count(best_); end > 0 && !is_over_();) {
        const std::size_t begin = end > size ? end - size : 0;
        Case smaller = best_;
        for (std::size_t i = end; i-- > begin;) part.erase(smaller, i);
        changed = Take(smaller) || changed;
        end = std::min(begin, part.count(best_));  // leaving an operation out takes its switches with it
      }
    }
    return changed;
  }

  // Of smaller programs, and of the program as it is, also under other letters: it may fail with fewer switches, or at a coarser
  // granularity.
  bool TakeOtherSchedule() {
    std::vector<Case> programs = SmallerPrograms(best_);
    programs.push_back(best_);
    for (std::size_t thread = 1; thread < best_.threads.size(); ++thread) SwapThreads(programs.emplace_back(best_), 0, thread);
    if (best_.switches.size() <= kFewSwitches) std::ranges::move(FewerSwitches(best_), std::back_inserter(programs));
    for (const Case& c : programs) {
      if (TakeOneOf(WithoutSwitches(c))) return true;
    }
    return TakeByChance(programs) || std::ranges::any_of(programs, [this](const Case& c) { return SearchSchedule(c); });
  }

  // Whether one of `programs` that has fewer operations fails under a schedule of OtherSchedule.
  bool TakeByChance(const std::vector<Case>& programs) {
    for (std::uint64_t n = 0; n < kByChance; ++n) {
      for (const Case& program : programs) {
        if (program.threads.size() < 2 || OperationCount(program) >= OperationCount(best_)) continue;
        if (Take(OtherSchedule(program, n))) return true;
      }
    }
    return false;
  }

  // Whether `program` fails under another schedule: one that is close to its own, or of one switch at a sync point.
  bool SearchSchedule(const Case& program) {
    if (TakeOneOf(NearbySchedules(program), kRunsPerSearch / 2)) return true;
    Case coarse = program;
    coarse.granularity = std::min(program.granularity, Granularity::kSync);
    const std::vector<Case> plain = WithoutSwitches(coarse);
    return std::ranges::any_of(plain,
                               [&](const Case& c) { return Take(c) || TakeWithOneSwitch(c, kRunsPerSearch / plain.size()); });
  }

  bool TakeWithOneSwitch(const Case& plain, std::size_t most) {
    const auto tried = tried_.find(EncodeCase(plain));
    return tried != tried_.end() && TakeOneOf(WithOneSwitch(plain, tried->second, most), most);
  }

  bool TakeOneOf(const std::vector<Case>& cases) {
    return std::ranges::any_of(cases, [this](const Case& c) { return Take(c); });
  }
  // The same, with at most so many runs.
  bool TakeOneOf(const std::vector<Case>& cases, std::size_t most) {
    const std::size_t end = runs_ + most;
    return std::ranges::any_of(cases, [&](const Case& c) { return runs_ < end && Take(c); });
  }

  // Whether `c` fails and is now the best one.
  bool Take(const Case& c) {
    if (is_over_() || c.threads.empty() || SizeOf(c) >= SizeOf(best_) || tried_.contains(EncodeCase(c))) return false;
    Trial trial = Remember(c);
    if (trial.fails) Keep(c, std::move(trial.switches));
    return trial.fails;
  }

  Trial Remember(const Case& c) {
    ++runs_;
    Trial trial = run_(c);
    tried_.emplace(EncodeCase(c), std::move(trial.places));
    return trial;
  }

  void Keep(const Case& c, std::vector<Switch> taken) {
    Case listed = c;
    listed.strategy = Strategy::kListed;
    listed.parameter = 0;
    listed.bytes.clear();
    listed.switches = std::move(taken);
    if (c.strategy == Strategy::kListed && SizeOf(listed) > SizeOf(c)) listed = c;
    best_ = std::move(listed);
    if (best_ != original_) on_smaller_(best_);
  }

  const Case original_;
  Case best_;
  std::map<std::vector<std::uint8_t>, std::vector<Place>> tried_;  // by its binary form, what its run came by
  std::size_t runs_ = 0;
  const RunTrial& run_;          // the caller's
  const IsOver& is_over_;        // the caller's
  const OnSmaller& on_smaller_;  // the caller's
};

}  // namespace

void Shrink(const Case& c, const RunTrial& run, const IsOver& is_over, const OnSmaller& on_smaller) {
  Shrinker(c, run, is_over, on_smaller).Run();
}

}  // namespace handoff
