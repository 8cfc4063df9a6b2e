#include "harness/case/edit.h"

#include <iterator>

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

}  // namespace handoff
