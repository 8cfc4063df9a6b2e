#include "harness/oracle/linearizability.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "harness/oracle/linearizability_words.h"
#include "harness/oracle/verdict.h"

namespace handoff::linearizability {
namespace {

using oracle::Fail;

constinit Call history[kMaxCalls] = {};  // in the order of their starts
int history_size = 0;
int begun[kMaxCallers] = {};  // operations of the program, each by its thread only
int now = 0;
int lock = 0;

// Nobody is stopped by the scheduler in here; the raw call keeps the wait of freely running threads out of its sight.
void Lock() {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) syscall(SYS_sched_yield);
}
void Unlock() { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

// A bit for each call of the key that is checked.
using Set = unsigned __int128;

constinit Call* calls[kMaxCallsOfKey] = {};  // of that key, in the order of their starts; not owned
int call_count = 0;

// What was tried before. A place is taken over when its neighbourhood is full: the search forgets, and stays correct.
struct Tried {
  Set done;
  int state;
  std::uint32_t search;  // entries of other searches count as empty
};
constexpr std::uint32_t kPlaces = 1U << 16;
constexpr std::uint32_t kProbes = 16;
constinit Tried tried[kPlaces] = {};
std::uint32_t search = 0;

std::uint32_t Place(Set done, int state) {
  const auto low = static_cast<std::uint64_t>(done);
  const auto high = static_cast<std::uint64_t>(done >> 64);
  const std::uint64_t mixed = (low * 0x9E3779B97F4A7C15U ^ high) * 0xC2B2AE3D27D4EB4FU + static_cast<std::uint32_t>(state);
  return static_cast<std::uint32_t>(mixed * 0x9E3779B97F4A7C15U >> 48);
}

// Whether this is new. Remembers it.
bool FirstTry(Set done, int state) {
  const std::uint32_t place = Place(done, state);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    Tried& entry = tried[(place + i) % kPlaces];
    if (entry.search == search && (entry.done != done || entry.state != state)) continue;
    if (entry.search == search) return false;
    entry = {done, state, search};
    return true;
  }
  tried[place] = {done, state, search};
  return true;
}

bool IsDone(Set done, int i) { return (done >> i & 1) != 0; }

// The first end among the calls not carried out: what starts later cannot come before that call.
int FirstEnd(Set done) {
  int first = kNever;
  for (int i = 0; i < call_count; ++i) {
    if (!IsDone(done, i) && calls[i]->end < first) first = calls[i]->end;
  }
  return first;
}

// Whether the calls that ended by `limit` can be explained from here on. Those that were open then may answer anything or not
// happen at all. At most kMaxCallsOfKey levels deep.
bool Explain(const Specification& specification, Set done, int state, int limit) {
  const int deadline = FirstEnd(done);
  if (deadline > limit) return true;
  if (!FirstTry(done, state)) return false;
  for (int i = 0; i < call_count && calls[i]->start < deadline; ++i) {
    if (IsDone(done, i)) continue;
    int next = state;
    const int answer = specification.apply(&next, calls[i]->operation, calls[i]->argument);
    if (calls[i]->end <= limit && answer != calls[i]->result) continue;
    if (Explain(specification, done | Set{1} << i, next, limit)) return true;
  }
  return false;
}

bool CanBeExplained(const Specification& specification, int limit) {
  ++search;
  return Explain(specification, 0, specification.initial, limit);
}

// Finds the answers with which the culprit would be explained: what a call on this key offered, none, yes or no. Each takes a
// search, so not all are looked for.
void FindRight(const Specification& specification, Call& culprit, Unexplained& found) {
  const int given = culprit.result;
  for (int i = found.call_count - 1; i >= -2 && !found.more_right; --i) {
    const int answer = i < 0 ? i + 2 : calls[i]->argument;
    bool known = false;
    for (int j = 0; j < found.right_count; ++j) known = known || found.right[j] == answer;
    culprit.result = answer;
    if (known || !CanBeExplained(specification, culprit.end)) continue;
    found.more_right = found.right_count == kMaxRight;
    if (!found.more_right) found.right[found.right_count++] = answer;
  }
  culprit.result = given;
}

[[noreturn]] void Blame(const Specification& specification, const Program& program, Call& culprit) {
  Unexplained found = {&culprit, calls, 0, {}, 0, false};
  while (found.call_count < call_count && calls[found.call_count]->start < culprit.end) ++found.call_count;
  FindRight(specification, culprit, found);
  Tell(specification, program, found);
}

// Explanations stay explanations when a history is cut earlier, so the first end that spoils it is well defined.
void CheckKey(const Specification& specification, const Program& program) {
  if (CanBeExplained(specification, kNever - 1)) return;
  for (int limit = 0;; ++limit) {
    Call* ends = nullptr;
    for (int i = 0; i < call_count; ++i) {
      if (calls[i]->end == limit) ends = calls[i];
    }
    if (ends != nullptr && !CanBeExplained(specification, limit)) Blame(specification, program, *ends);
  }
}

// Makes `calls` those of the key that history[first] is about.
void Choose(int first) {
  call_count = 0;
  for (int i = first; i < history_size; ++i) {
    if (history[i].map != history[first].map || history[i].key != history[first].key) continue;
    if (call_count == kMaxCallsOfKey) {
      Fail("harness", "", "The history holds %d calls of one key. Raise kMaxCallsOfKey.", kMaxCallsOfKey);
    }
    calls[call_count++] = &history[i];
  }
}

bool IsFirstOfKey(int i) {
  for (int j = 0; j < i; ++j) {
    if (history[j].map == history[i].map && history[j].key == history[i].key) return false;
  }
  return true;
}

}  // namespace

void Reset() {
  history_size = 0;
  for (int& count : begun) count = 0;
  now = 0;
  lock = 0;
}

void OperationBegins(int thread) { ++begun[thread]; }

int Called(int thread, int map, int key, int operation, int argument) {
  Lock();
  if (history_size == kMaxCalls) Fail("harness", "", "The history holds %d calls. Raise kMaxCalls.", kMaxCalls);
  const int call = history_size++;
  history[call] = {thread, begun[thread] - 1, map, key, operation, argument, 0, ++now, kNever};
  Unlock();
  return call;
}

void Returned(int call, int result) {
  Lock();
  history[call].result = result;
  history[call].end = ++now;
  Unlock();
}

void Judge(const Specification& specification, const Program& program) {
  for (int i = 0; i < history_size; ++i) {
    if (!IsFirstOfKey(i)) continue;
    Choose(i);
    CheckKey(specification, program);
  }
}

}  // namespace handoff::linearizability
