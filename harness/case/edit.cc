#include "harness/case/edit.h"

#include <cstdint>
#include <iterator>
#include <utility>

namespace handoff {
namespace {

template <class Container>
auto Nth(Container& container, std::size_t index) {
  return std::next(container.begin(), static_cast<std::ptrdiff_t>(index));
}

}  // namespace

void InsertOperation(Case& c, std::size_t thread, std::size_t index, const Operation& operation) {
  c.threads[thread].insert(Nth(c.threads[thread], index), operation);
  for (Switch& s : c.switches) {
    if (s.thread == thread && s.at.operation >= index) ++s.at.operation;
  }
}

Operation EraseOperation(Case& c, std::size_t thread, std::size_t index) {
  const Operation removed = c.threads[thread][index];
  c.threads[thread].erase(Nth(c.threads[thread], index));
  std::erase_if(c.switches, [&](const Switch& s) { return s.thread == thread && s.at.operation == index; });
  for (Switch& s : c.switches) {
    if (s.thread == thread && s.at.operation > index) --s.at.operation;
  }
  return removed;
}

void EraseThread(Case& c, std::size_t thread) {
  c.threads.erase(Nth(c.threads, thread));
  std::erase_if(c.switches, [&](const Switch& s) { return s.thread == thread || s.to == thread; });
  for (Switch& s : c.switches) {
    if (s.thread != kGate && s.thread > thread) --s.thread;
    if (s.to > thread) --s.to;
  }
}

void MergeThreads(Case& c, std::size_t into, std::size_t from) {
  auto& operations = c.threads[into];
  const auto behind = static_cast<std::uint16_t>(operations.size());
  operations.insert(operations.end(), c.threads[from].begin(), c.threads[from].end());
  for (Switch& s : c.switches) {
    if (s.thread == from) {
      s.thread = static_cast<std::uint8_t>(into);
      s.at.operation = static_cast<std::uint16_t>(s.at.operation + behind);
    }
    if (s.to == from) s.to = static_cast<std::uint8_t>(into);
  }
  std::erase_if(c.switches, [](const Switch& s) { return s.thread == s.to; });
  EraseThread(c, from);
}

void MoveOperations(Case& c, std::size_t from, std::size_t count, std::size_t to) {
  const auto end = Nth(c.threads[from], count);
  c.threads[to].insert(c.threads[to].begin(), c.threads[from].begin(), end);
  c.threads[from].erase(c.threads[from].begin(), end);
  for (Switch& s : c.switches) {
    if (s.thread == to) {
      s.at.operation = static_cast<std::uint16_t>(s.at.operation + count);
    } else if (s.thread == from && s.at.operation < count) {
      s.thread = static_cast<std::uint8_t>(to);
    } else if (s.thread == from) {
      s.at.operation = static_cast<std::uint16_t>(s.at.operation - count);
    }
  }
  std::erase_if(c.switches, [](const Switch& s) { return s.thread == s.to; });
}

void SwapThreads(Case& c, std::size_t first, std::size_t second) {
  std::swap(c.threads[first], c.threads[second]);
  const auto rename = [&](std::uint8_t& thread) {
    if (thread == first) {
      thread = static_cast<std::uint8_t>(second);
    } else if (thread == second) {
      thread = static_cast<std::uint8_t>(first);
    }
  };
  for (Switch& s : c.switches) {
    rename(s.thread);
    rename(s.to);
  }
}

}  // namespace handoff
