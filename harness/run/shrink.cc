#include "harness/run/shrink.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "harness/case/edit.h"

namespace handoff {
namespace {

// One kind of thing that a case has a number of.
struct Part {
  std::size_t (*count)(const Case& c);
  void (*erase)(Case& c, std::size_t index);
};

std::size_t CountOperations(const Case& c) { return OperationCount(c); }

// Numbered through, thread by thread.
void EraseNumberedOperation(Case& c, std::size_t index) {
  std::size_t thread = 0;
  for (; index >= c.threads[thread].size(); ++thread) index -= c.threads[thread].size();
  EraseOperation(c, thread, index);
}

std::size_t CountSwitches(const Case& c) { return c.switches.size(); }
void EraseSwitch(Case& c, std::size_t index) { c.switches.erase(c.switches.begin() + static_cast<std::ptrdiff_t>(index)); }

constexpr Part kParts[] = {{CountOperations, EraseNumberedOperation}, {CountSwitches, EraseSwitch}};

class Shrinker {
 public:
  Shrinker(Case c, const StillFails& still_fails, const IsOver& is_over)
      : best_(std::move(c)), still_fails_(still_fails), is_over_(is_over) {}

  Case Run() {
    for (bool changed = true; changed && !is_over_();) {
      changed = LeaveOutThreads();
      for (const Part& part : kParts) changed = LeaveOut(part) || changed;
    }
    return std::move(best_);
  }

 private:
  bool Take(Case smaller) {
    if (!still_fails_(smaller)) return false;
    best_ = std::move(smaller);
    return true;
  }

  bool LeaveOutThreads() {
    bool changed = false;
    for (std::size_t thread = best_.threads.size(); thread-- > 0 && best_.threads.size() > 1 && !is_over_();) {
      Case smaller = best_;
      EraseThread(smaller, thread);
      changed = Take(std::move(smaller)) || changed;
    }
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
        changed = Take(std::move(smaller)) || changed;
        end = std::min(begin, part.count(best_));  // leaving an operation out takes its switches with it
      }
    }
    return changed;
  }

  Case best_;
  const StillFails& still_fails_;  // the caller's
  const IsOver& is_over_;          // the caller's
};

}  // namespace

Case Shrink(const Case& c, const StillFails& still_fails, const IsOver& is_over) {
  return Shrinker(c, still_fails, is_over).Run();
}

}  // namespace handoff
