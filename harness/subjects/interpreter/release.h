// Ways to drop a reference to an interpreter's object from a thread that may hold no thread state: attached elsewhere, detached,
// or never attached at all, with a native lock in the hand, while the interpreter ends, and after it has begun again.
//
// The table in README.md beside this file says which one is safe where. Safe, and functions here: S5 exit block, S6 queue, S7
// pending call, S8 leak, S10 view; S11 and S12 say when, and are the caller's (reference_release.cc). The others are twins.
//
// All are the same in an interpreter with a GIL and in a free-threaded one, where "attached" takes the GIL's place: stopping the
// world waits for attached threads. Our text; sources are the projects named.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "harness/subjects/interpreter/left_behind.h"
#include "harness/subjects/interpreter/lock.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct Host;

// An object whose only reference is the handle to it.
struct Payload : Object {
  Payload(Host& owner, Payload* nested);
  Host& host;
  const int generation;     // of the interpreter when it was made
  const int number;         // the watch's, of the handle
  Payload* inner;           // released in its dealloc, by the queue; owned; may be null
  Payload* next = nullptr;  // of those that are left behind
};

// An interpreter with what the ways need around it.
struct Host {
  Host(Mode mode, int number);

  const int number;
  Runtime runtime;
  LeftBehind<Payload> leaked;

  // S5. Releases hold it shared from the test until they are attached; whoever ends the interpreter closes it exclusively.
  std::shared_mutex exit_block;
  bool exit_closed = false;            // guarded by exit_block
  std::atomic<bool> exit_flag{false};  // of the twin without the block
  const int exit_node;                 // of the lock order

  // S6.
  Mutex queue_lock;
  std::vector<Payload*> queue;  // guarded by queue_lock; owns references
  bool queue_closed = false;    // likewise
  int queue_generation = 0;     // likewise: references of other generations are refused

  // S7: CPython's table of pending calls is small, and a call that does not fit is refused.
  static constexpr int kPending = 2;
  Mutex pending_lock;
  Payload* pending[kPending] = {};  // guarded by pending_lock; owns references
  int pending_count = 0;            // likewise
  bool pending_closed = false;      // likewise
  int pending_generation = 0;       // likewise

  std::atomic<bool> ending{false};     // claimed by the one thread that ends it, until it has begun again
  std::atomic<bool> beginning{false};  // by the one that lets it begin
};

namespace release {

// Each takes over the reference. Any thread, attached anywhere or detached, holding no lock but as the table says.
void ByExitBlock(int thread, Payload* payload);
void ByQueue(int thread, Payload* payload);
void ByPendingCall(int thread, Payload* payload);
void ByLeak(int thread, Payload* payload);
void ByView(int thread, Payload* payload);

// Drops what lies in the queue and in the table. Attached to the host.
void Drain(int thread, Host& host);
// Ends the interpreter: closes the gate, drains, ends. Does nothing if somebody else has or does. By a detached thread.
void End(int thread, Host& host);
// Lets it begin again if it has ended. By a detached thread.
void BeginAgain(int thread, Host& host);

}  // namespace release

}  // namespace handoff::interpreter
