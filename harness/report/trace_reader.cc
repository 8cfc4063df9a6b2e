#include "harness/report/trace_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

namespace handoff {
namespace {

using schedule::kMaxControlled;
using schedule::StepKind;
using schedule::ThreadSet;

// The row that tells what each thread did last, null if nothing.
using LastSteps = std::array<const TraceStep*, kMaxControlled>;

LastSteps Last(std::span<const TraceStep> trace) {
  LastSteps last{};
  for (const TraceStep& step : trace) {
    // A switch says who goes on, not what its thread is doing.
    if (step.kind != StepKind::kSwitch && step.thread < last.size()) last[step.thread] = &step;
  }
  return last;
}

// The threads of "... Cycle: A -> B -> A.", empty without one.
ThreadSet Cycle(std::string_view detail) {
  constexpr std::string_view kWord = "Cycle: ";
  const std::size_t at = detail.find(kWord);
  ThreadSet cycle = 0;
  if (at == std::string_view::npos) return cycle;
  for (const char c : detail.substr(at + kWord.size())) {
    if (c >= 'A' && c < 'A' + kMaxControlled) cycle |= schedule::Only(c - 'A');
  }
  return cycle;
}

}  // namespace

int FailingThread(const Finding& finding) {
  if (finding.thread >= 0) return finding.thread;
  if (finding.trace.empty()) return -1;
  const TraceStep& last = finding.trace.back();
  if (last.kind == StepKind::kExit) return -1;  // nobody was left to switch to
  const int thread = last.kind == StepKind::kSwitch ? last.to : last.thread;
  return thread < kMaxControlled ? thread : -1;
}

std::optional<Operation> FailingOperation(const Finding& finding) {
  const int thread = FailingThread(finding);
  if (thread < 0 || static_cast<std::size_t>(thread) >= finding.recorded.threads.size()) return std::nullopt;
  Position at = finding.at;
  const TraceStep* last = Last(finding.trace)[static_cast<std::size_t>(thread)];
  if (last != nullptr) {
    if (last->kind == StepKind::kEnd || last->kind == StepKind::kExit) return std::nullopt;
    if (finding.thread < 0) at = last->at;
  }
  const std::vector<Operation>& operations = finding.recorded.threads[static_cast<std::size_t>(thread)];
  if ((last == nullptr && finding.thread < 0) || at.operation >= operations.size()) return std::nullopt;
  return operations[at.operation];
}

bool HasCycle(const Finding& finding) { return Cycle(finding.detail) != 0; }

std::vector<std::string> WaitedFor(const Finding& finding) {
  const ThreadSet cycle = Cycle(finding.detail);
  const LastSteps last = Last(finding.trace);
  std::vector<std::string> kinds;
  for (int i = 0; i < kMaxControlled; ++i) {
    const TraceStep* step = last[static_cast<std::size_t>(i)];
    if (cycle != 0 && !schedule::Has(cycle, i)) continue;
    if (step != nullptr && step->kind == StepKind::kWait && step->what != nullptr) kinds.emplace_back(step->what);
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

int OtherThread(const Finding& finding) {
  const int failing = FailingThread(finding);
  if (finding.sites.size() < 2 || failing < 0) return -1;
  if (finding.sites[0].reported > 0 && finding.sites[1].reported == 0) return -1;  // the main thread, before or after
  ThreadSet ran = 0;
  for (const TraceStep& step : finding.trace) {
    if (step.thread < kMaxControlled && step.thread != failing) ran |= schedule::Only(step.thread);
  }
  if (ran == 0) return -1;
  if (std::popcount(ran) == 1) return std::countr_zero(ran);
  // Carriers are created one after another, so their numbers in the report have the distance of their letters.
  const Site& here = finding.sites[0];
  const Site& there = finding.sites[1];
  if (here.reported < 0 || there.reported < 0 || here.reported == there.reported) return -1;
  const int other = failing + there.reported - here.reported;
  return other >= 0 && other < kMaxControlled && schedule::Has(ran, other) ? other : -1;
}

}  // namespace handoff
