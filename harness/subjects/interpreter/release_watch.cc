#include "harness/subjects/interpreter/release_watch.h"

#include <cstdint>

#include "harness/oracle/verdict.h"

namespace handoff::interpreter::release_watch {
namespace {

using oracle::Fail;

enum class State : std::uint8_t { kHeld, kPending, kApplied, kLeaked };

// Read and written by atomic functions, for the strategy `free`, where threads really run at the same time.
struct Handle {
  State state;
  int host;
  int generation;
};

Handle handles[kMaxHandles + 1];
int handle_count = 0;
bool closed[kMaxHosts];
int current_generation[kMaxHosts];  // of references that are made while the gate is open

const char* Word(State state) {
  switch (state) {
    case State::kHeld:
      return "still held";
    case State::kPending:
      return "pending";
    case State::kApplied:
      return "dropped";
    case State::kLeaked:
      return "given up";
  }
  return "";
}

void Settle(int handle, State state) {
  State& place = handles[handle].state;
  State before{};
  __atomic_load(&place, &before, __ATOMIC_RELAXED);
  do {
    const bool moves_on = before == State::kHeld || (before == State::kPending && state != State::kPending);
    if (!moves_on) {
      Fail("double-delete", "S0", "Reference %d is %s although it is %s: each release ends as exactly one of the three.", handle,
           Word(state), Word(before));
    }
  } while (!__atomic_compare_exchange(&place, &before, &state, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

}  // namespace

void Reset() {
  handle_count = 0;
  for (bool& gate : closed) gate = false;
  for (int& generation : current_generation) generation = 0;
}

int HandleMade(int host, int generation) {
  const int number = __atomic_add_fetch(&handle_count, 1, __ATOMIC_RELAXED);
  if (number > kMaxHandles) Fail("harness", "", "The watch holds %d references. Raise kMaxHandles.", kMaxHandles);
  handles[number] = Handle{State::kHeld, host, generation};
  return number;
}

void Applied(int handle, int generation) {
  const Handle& h = handles[handle];
  if (h.generation != generation) {
    Fail("protocol", "S10",
         "Reference %d of generation %d of interpreter %d is dropped in generation %d: its object went with the interpreter that "
         "ended.",
         handle, h.generation, h.host, generation);
  }
  Settle(handle, State::kApplied);
}

void Pending(int handle) { Settle(handle, State::kPending); }
void LeakedByDesign(int handle) { Settle(handle, State::kLeaked); }

void Leaked(int handle) {
  Settle(handle, State::kLeaked);
  const Handle& h = handles[handle];
  // Acquire: a gate that is open again comes with the number of its generation.
  if (__atomic_load_n(&closed[h.host], __ATOMIC_ACQUIRE)) return;
  if (__atomic_load_n(&current_generation[h.host], __ATOMIC_RELAXED) != h.generation) return;
  Fail("missing-delete", "S8",
       "Reference %d is given up although interpreter %d lives, in the generation that made it. Drop it, or queue it: only what "
       "meets the interpreter's end is leaked and counted.",
       handle, h.host);
}

void GateClosed(int host) { __atomic_store_n(&closed[host], true, __ATOMIC_RELAXED); }

void GateOpened(int host) {
  __atomic_add_fetch(&current_generation[host], 1, __ATOMIC_RELAXED);
  __atomic_store_n(&closed[host], false, __ATOMIC_RELEASE);  // with the number before it
}

void AttachBegins(int host) {
  if (!__atomic_load_n(&closed[host], __ATOMIC_RELAXED)) return;
  Fail("protocol", "S5",
       "A thread begins to attach to interpreter %d after its exit gate was closed. Hold the gate open from the test until "
       "attached.",
       host);
}

void Judge() {
  for (int i = 1; i <= handle_count; ++i) {
    const State state = handles[i].state;
    if (state == State::kApplied || state == State::kLeaked) continue;
    Fail("missing-delete", "S6", "Reference %d is %s at the end. A queue is drained, or closed and what is left counted.", i,
         Word(state));
  }
}

}  // namespace handoff::interpreter::release_watch
