#include "harness/case/edit.h"

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

namespace handoff {
namespace {

template <class Container>
auto Nth(Container& container, std::size_t index) {
  return std::next(container.begin(), static_cast<std::ptrdiff_t>(index));
}

Case Without(Case c, const std::set<std::uint8_t>& codes) {
  for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
    for (std::size_t i = c.threads[thread].size(); i-- > 0;) {
      if (codes.contains(c.threads[thread][i].code)) EraseOperation(c, thread, i);
    }
  }
  return c;
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

std::vector<Case> WithoutUnchosen(const Alphabet& alphabet, const Case& c) {
  std::set<std::uint8_t> unchosen;
  for (const auto& operations : c.threads) {
    for (const Operation& operation : operations) {
      if (alphabet.operations[operation.code].weight == 0) unchosen.insert(operation.code);
    }
  }
  std::vector<Case> without;
  without.reserve(unchosen.size() + 1);
  for (const std::uint8_t code : unchosen) without.push_back(Without(c, {code}));
  if (unchosen.size() > 1) without.push_back(Without(c, unchosen));
  return without;
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
