#include "harness/run/shrink.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "harness/case/binary.h"
#include "harness/case/edit.h"

namespace handoff {
namespace {

// Runs that a search for another schedule of one program may take. Most runs take 3 to 10 ms, and a case of six operations has
// some fifteen smaller programs.
constexpr int kRunsPerSearch = 60;

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
  Shrinker(const Case& c, const RunTrial& run, const IsOver& is_over) : original_(c), best_(c), run_(run), is_over_(is_over) {}

  std::vector<Case> Run() {
    Start();
    while (!is_over_() && Step()) {
    }
    return std::move(smaller_);
  }

 private:
  // Runs the case itself: switches that were not taken go at once.
  void Start() {
    if (is_over_()) return;
    Trial trial = Remember(original_);
    if (trial.fails) Keep(original_, std::move(trial.switches));
  }

  // The cheapest first; what needs many runs only when nothing else helps. Whether the case became smaller.
  bool Step() {
    bool changed = false;
    for (const Part& part : kParts) changed = LeaveOut(part) || changed;
    return changed || TakeSmallerProgram() || TakeOneOf(SimplerSchedules(best_)) || TakeOneOf(SmallerArguments(best_)) ||
           SearchSmallerProgram();
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

  bool TakeSmallerProgram() {
    std::vector<Case> programs = SmallerPrograms(best_);
    std::ranges::move(WithoutPairs(best_), std::back_inserter(programs));
    return std::ranges::any_of(programs, [this](const Case& c) { return Take(c) || TakeOneOf(WithoutSwitches(c)); });
  }

  // Of the program as it is too: it may fail with fewer switches, or at a coarser granularity.
  bool SearchSmallerProgram() {
    std::vector<Case> programs = SmallerPrograms(best_);
    programs.push_back(best_);
    return std::ranges::any_of(programs, [this](const Case& c) { return SearchSchedule(c); });
  }

  // Whether `program` fails under another schedule: one that is close to its own, or of one switch at a sync point.
  bool SearchSchedule(const Case& program) {
    const int last = runs_ + kRunsPerSearch;
    if (TakeOneOf(NearbySchedules(program), last - kRunsPerSearch / 2)) return true;
    Case coarse = program;
    coarse.granularity = std::min(program.granularity, Granularity::kSync);
    for (const Case& plain : WithoutSwitches(coarse)) {
      if (Take(plain)) return true;
      const auto tried = tried_.find(EncodeCase(plain));
      if (tried != tried_.end() && TakeOneOf(WithOneSwitch(plain, tried->second), last)) return true;
    }
    return false;
  }

  bool TakeOneOf(const std::vector<Case>& cases) {
    return std::ranges::any_of(cases, [this](const Case& c) { return Take(c); });
  }
  // The same, until so many runs have been made.
  bool TakeOneOf(const std::vector<Case>& cases, int last) {
    return std::ranges::any_of(cases, [&](const Case& c) { return runs_ < last && Take(c); });
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
    best_ = c;
    best_.switches = std::move(taken);
    if (SizeOf(best_) > SizeOf(c)) best_ = c;
    if (best_ != original_) smaller_.push_back(best_);
  }

  const Case& original_;  // the caller's
  Case best_;
  std::vector<Case> smaller_;
  std::map<std::vector<std::uint8_t>, std::vector<Place>> tried_;  // by its binary form, what its run came by
  int runs_ = 0;
  const RunTrial& run_;    // the caller's
  const IsOver& is_over_;  // the caller's
};

}  // namespace

std::vector<Case> Shrink(const Case& c, const RunTrial& run, const IsOver& is_over) { return Shrinker(c, run, is_over).Run(); }

}  // namespace handoff
