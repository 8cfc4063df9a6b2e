#include "harness/report/interleaving.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/case/text.h"
#include "harness/report/trace_reader.h"

namespace handoff {
namespace {

using schedule::kMaxControlled;
using schedule::PointKind;
using schedule::StepKind;

struct Row {
  int thread = -1;  // its column; -1: behind the threads' ends
  std::string text;
  StepKind kind = StepKind::kBegin;
  bool marked = false;
};

std::string Plural(std::uint64_t count, std::string_view noun, std::string_view ending) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : std::string(ending));
}

// "deleter call #2".
std::string ObjectText(const TraceStep& step) {
  std::string text = step.what != nullptr ? step.what : "a step without a name";
  if (step.object != 0) text += " #" + std::to_string(step.object);
  return text;
}

// The scheduler's word for an object (WaitName in harness/schedule/deadlock.cc) as part of a sentence.
std::string WaitText(const TraceStep& step) {
  const std::string_view what = step.what != nullptr ? step.what : "";
  if (what == "ever") return "waits for ever";
  if (what == "sleep") return "sleeps";
  if (what == "signal") return "waits for a signal";
  if (what == "the end") return "waits for the end of a thread";
  return "waits for " + ObjectText(step);
}

std::string FailureText(const Finding& finding) {
  std::string text = finding.kind;
  if (!finding.rule.empty()) text += ", rule " + finding.rule;
  if (!finding.where.place.empty()) text += ", at " + finding.where.place;
  // Of an inversion the first site is where the first of the locks is taken: all is well there.
  if (finding.sites.empty() || finding.sites[0].function.empty() || finding.kind == "lock-order-inversion") return text;
  const Site& site = finding.sites[0];
  return text + ": " + (site.access.empty() ? "" : site.access + " ") + "in " + site.function;
}

// Turns a trace into rows.
class RowWriter {
 public:
  RowWriter(const Finding& finding, const Alphabet& alphabet) : finding_(finding), alphabet_(alphabet) {}

  std::vector<Row> Write() {
    if (finding_.kind == "deadlock") FindAwaited();
    for (const TraceStep& step : finding_.trace) {
      const auto index = static_cast<std::size_t>(&step - finding_.trace.data());
      if (index == schedule::kFirstSteps && finding_.steps_lost > 0)
        rows_.push_back({.thread = -1, .text = "... " + std::to_string(finding_.steps_lost) + " steps were not kept ..."});
      if (step.thread < kMaxControlled) Add(step, &step == &finding_.trace.back());
    }
    if (finding_.kind == "deadlock") {
      MarkWaiting();
    } else {
      MarkLast(OtherThread(finding_));
      AddFailure();
    }
    return std::move(rows_);
  }

 private:
  // What is known of a thread while the trace is read.
  struct State {
    const TraceStep* point = nullptr;  // the last one; the finding's
    bool interrupted = false;          // others ran since the operation began
    std::uint32_t waits_for = 0;       // an object's number, from its wait to its next step
  };

  // What is waited for in the end: who has tried to wake the waiters of that is of interest.
  void FindAwaited() {
    std::array<bool, kMaxControlled> seen{};
    for (auto step = finding_.trace.rbegin(); step != finding_.trace.rend(); ++step) {  // NOLINT(modernize-loop-convert)
      const bool begins_or_ends = step->kind == StepKind::kWait || step->kind == StepKind::kEnd || step->kind == StepKind::kExit;
      if (step->thread >= kMaxControlled || !begins_or_ends || std::exchange(seen[step->thread], true)) continue;
      if (step->kind == StepKind::kWait && step->object != 0) awaited_.push_back(step->object);
    }
  }

  // "calls pthread_cond_signal #2, at exchange.cc:12: nobody waits for it"
  void AddWake(const TraceStep& step) {
    if (!schedule::IsWake(step.what) || std::ranges::find(awaited_, step.object) == awaited_.end()) return;
    const bool heard = std::ranges::any_of(states_, [&](const State& state) { return state.waits_for == step.object; });
    AddRow(step, "calls " + ObjectText(step) + AtPlace(step) + (heard ? "" : ": nobody waits for it"));
  }

  void Add(const TraceStep& step, bool is_last) {
    State& state = states_[step.thread];
    if (step.kind != StepKind::kSwitch) state.waits_for = step.kind == StepKind::kWait ? step.object : 0;
    switch (step.kind) {
      case StepKind::kBegin:
        state = State{};
        AddRow(step, OperationText(step));
        break;
      case StepKind::kEnd:
        if (state.interrupted) AddRow(step, "ends " + OperationName(step));
        break;
      case StepKind::kPoint:
        state.point = &step;
        AddWake(step);
        if (is_last) AddRow(step, Beyond(step));
        break;
      case StepKind::kSwitch:
        AddSwitch(step);
        break;
      case StepKind::kWait:
        state.interrupted = true;
        AddRow(step, WaitText(step) + AtPlace(step));
        break;
      case StepKind::kTimeout:
        AddRow(step, step.times == 1 ? "times out" : "times out, " + std::to_string(step.times) + " times");
        break;
      case StepKind::kCreate:
        AddRow(step, std::string("creates ") + ThreadName(step.to));
        break;
      case StepKind::kExit:
        AddRow(step, "thread ends");
        break;
    }
  }

  // Where the failing thread got to: its last point may lie far behind it.
  std::string Beyond(const TraceStep& step) const {
    const bool counted = finding_.thread == step.thread && finding_.at.operation == step.at.operation &&
                         finding_.at.sync == step.at.sync && finding_.at.access > 0;
    return (counted ? Plural(finding_.at.access, "access", "es") + " past " : "past ") + ObjectText(step);
  }

  void AddSwitch(const TraceStep& step) {
    // Between operations and behind the last one the next row's column says it; a wait has its own row.
    if (step.point == PointKind::kOp || step.point == PointKind::kEnd || step.point == PointKind::kWait) return;
    State& state = states_[step.thread];
    state.interrupted = true;
    const bool at_point = state.point != nullptr && state.point->at.sync == step.at.sync;
    std::string where;
    if (step.point == PointKind::kYield) {
      where = "yields";
    } else if (step.point == PointKind::kSync) {
      where = "stops before " + (at_point ? ObjectText(*state.point) : "its sync point " + std::to_string(step.at.sync));
    } else {
      where = step.point == PointKind::kSpin ? "spins, stopped after " : "stops after ";
      where += Plural(step.at.access, "access", "es");
      if (step.at.sync != 0)
        where += " past " + (at_point ? ObjectText(*state.point) : "sync point " + std::to_string(step.at.sync));
    }
    AddRow(step, where + AtPlace(step) + "; " + ThreadName(step.to) + " goes on");
  }

  void AddRow(const TraceStep& step, std::string text) {
    rows_.push_back({.thread = step.thread, .text = std::move(text), .kind = step.kind});
  }

  // ", at capsule.cc:12"
  std::string AtPlace(const TraceStep& step) const {
    const auto index = static_cast<std::size_t>(&step - finding_.trace.data());
    return index < finding_.places.size() && !finding_.places[index].empty() ? ", at " + finding_.places[index] : "";
  }

  const Operation* OperationOf(const TraceStep& step) const {
    if (step.thread >= finding_.recorded.threads.size()) return nullptr;
    const std::vector<Operation>& operations = finding_.recorded.threads[step.thread];
    if (step.at.operation >= operations.size()) return nullptr;
    const Operation& operation = operations[step.at.operation];
    return operation.code < alphabet_.operations.size() ? &operation : nullptr;
  }
  std::string OperationText(const TraceStep& step) const {
    const Operation* operation = OperationOf(step);
    return operation != nullptr ? PrintOperation(alphabet_, *operation) : "begins";
  }
  std::string OperationName(const TraceStep& step) const {
    const Operation* operation = OperationOf(step);
    return operation != nullptr ? std::string(alphabet_.operations[operation->code].name) : "its operation";
  }

  // Of a deadlock every wait that nobody ended is part of the failure.
  void MarkWaiting() {
    std::array<bool, kMaxControlled> seen{};
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {  // NOLINT(modernize-loop-convert): std::views is not worth it
      if (row->thread < 0) continue;
      bool& is_later = seen[static_cast<std::size_t>(row->thread)];
      row->marked = (row->kind == StepKind::kWait || row->kind == StepKind::kTimeout) && !is_later;
      is_later = is_later || row->kind != StepKind::kPoint;  // one that polls is before its next wait
    }
  }

  void MarkLast(int thread) {
    if (thread < 0) return;
    const auto row =
        std::find_if(rows_.rbegin(), rows_.rend(), [&](const Row& r) { return r.thread == thread && r.kind != StepKind::kExit; });
    if (row != rows_.rend()) row->marked = true;
  }

  void AddFailure() {
    // Judged behind the end of all threads: nobody's step.
    const bool at_end = finding_.thread < 0 && finding_.trace.back().kind == StepKind::kExit;
    const int thread = at_end ? -1 : FailingThread(finding_);
    rows_.push_back({.thread = thread,
                     .text = (thread < 0 ? "at the end: " : "") + FailureText(finding_),
                     .kind = StepKind::kPoint,
                     .marked = true});
  }

  const Finding& finding_;    // the caller's
  const Alphabet& alphabet_;  // the caller's
  std::vector<Row> rows_;
  std::vector<std::uint32_t> awaited_;  // objects, of a deadlock
  std::array<State, kMaxControlled> states_;
};

// A row without its numbers, by which the rounds of a loop are known again. Operations are no rounds, whatever their arguments.
std::string ShapeOf(const Row& row, std::size_t index) {
  if (row.kind == StepKind::kBegin) return std::to_string(index);
  std::string shape(1, ThreadName(std::max(row.thread, 0)));
  for (const char c : row.text) {
    if (c < '0' || c > '9') shape += c;
  }
  return shape;
}

// How many times the `period` rows from `begin` on come one after the other.
std::size_t Rounds(const std::vector<std::string>& shapes, std::size_t begin, std::size_t period) {
  std::size_t end = begin + period;
  while (end < shapes.size() && shapes[end] == shapes[end - period]) ++end;
  return (end - begin) / period;
}

// Of the rounds of a loop the first one, how many follow, and the last one.
std::vector<Row> Folded(const std::vector<Row>& rows) {
  constexpr std::size_t kLongestRound = 12;
  constexpr std::size_t kFewest = 4;
  std::vector<std::string> shapes;
  shapes.reserve(rows.size());
  for (const Row& row : rows) shapes.push_back(ShapeOf(row, shapes.size()));
  std::vector<Row> folded;
  const auto copy = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) folded.push_back(rows[i]);
  };
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t period = 1;
    while (period <= kLongestRound && Rounds(shapes, i, period) < kFewest) ++period;
    if (period > kLongestRound) {
      copy(i, i + 1);
      ++i;
      continue;
    }
    const std::size_t rounds = Rounds(shapes, i, period);
    copy(i, i + period);
    const std::string what = period == 1 ? "this row" : "these " + std::to_string(period) + " rows";
    folded.push_back(
        {.thread = rows[i].thread, .text = "... " + what + " " + Plural(rounds - 2, "more time", "s") + ", and then ..."});
    i += rounds * period;
    copy(i - period, i);
  }
  return folded;
}

// Which rows of a long table are shown: both ends and what is marked.
std::vector<bool> Shown(const std::vector<Row>& rows) {
  constexpr std::size_t kFirst = kMaxRows / 3;
  constexpr std::size_t kLast = kMaxRows - kFirst;
  std::vector<bool> shown(rows.size(), rows.size() <= kMaxRows);
  if (rows.size() <= kMaxRows) return shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    shown[i] = i < kFirst || i >= rows.size() - kLast || rows[i].marked;
  }
  return shown;
}

// A row may run on to the right over the columns of others, which are empty there; so columns can be narrow.
std::size_t ColumnDistance(const std::vector<Row>& rows, std::size_t threads, std::size_t margin) {
  std::size_t longest = 0;
  for (const Row& row : rows) longest = std::max(longest, row.text.size());
  const std::size_t room = kReportWidth - margin;
  if (threads < 2) return room;
  const std::size_t rest = room > longest ? room - longest : 0;
  return std::clamp(rest / (threads - 1), std::size_t{4}, longest + 2 < 12 ? std::size_t{12} : longest + 2);
}

std::size_t ThreadCount(const Finding& finding, const std::vector<Row>& rows) {
  std::size_t count = std::max<std::size_t>(finding.recorded.threads.size(), 1);
  for (const Row& row : rows) count = std::max(count, static_cast<std::size_t>(row.thread + 1));
  return count;
}

// `text` at `indent`, which is at least 2, with the mark right before it.
void AddLine(std::size_t indent, bool marked, std::string_view text, std::string& out) {
  std::string line(indent, ' ');
  if (marked) line[indent - 2] = '>';
  line += text;
  if (line.size() > kReportWidth) line.replace(kReportWidth - 3, std::string::npos, "...");
  out += line + "\n";
}

void AddNotes(const Finding& finding, std::string& out) {
  if (finding.kind == "deadlock") {
    out += "  \">\" marks the waits that nobody ends.\n";
  } else if (OtherThread(finding) >= 0) {
    out += "  \">\" marks the failing access and the step of thread ";
    out += ThreadName(OtherThread(finding));
    out += " in or before which the other access was made.\n";
  } else {
    out += "  \">\" marks the failing step.\n";
  }
}

}  // namespace

std::string Interleaving(const Finding& finding, const Alphabet& alphabet) {
  if (finding.trace.empty())
    return "  No trace: the run ended before its first step, or the strategy `free` controlled nothing.\n";
  constexpr std::size_t kMargin = 2;
  const std::vector<Row> rows = Folded(RowWriter(finding, alphabet).Write());
  const std::size_t threads = ThreadCount(finding, rows);
  const std::size_t distance = ColumnDistance(rows, threads, kMargin);
  std::string out;
  std::string header;
  for (std::size_t i = 0; i < threads; ++i) {
    header.resize(i * distance, ' ');
    header += ThreadName(static_cast<int>(i));
  }
  AddLine(kMargin, false, header, out);
  const std::vector<bool> shown = Shown(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!shown[i]) {
      std::size_t end = i;
      while (end < rows.size() && !shown[end]) ++end;
      AddLine(kMargin, false, "... " + Plural(end - i, "row", "s") + " left out ...", out);
      i = end - 1;
      continue;
    }
    const std::size_t column = static_cast<std::size_t>(std::max(rows[i].thread, 0));
    AddLine(kMargin + column * distance, rows[i].marked, rows[i].text, out);
  }
  AddNotes(finding, out);
  return out;
}

}  // namespace handoff
