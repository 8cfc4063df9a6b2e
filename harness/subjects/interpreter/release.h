// Ways to drop a reference to an interpreter's object from a thread that may hold no thread state: attached elsewhere, detached,
// or never attached at all, with a native lock in the hand, while the interpreter ends, and after it has begun again.
//
// What each one is good for. "Ends" says what happens to a release that meets an interpreter that ends; "order" what the caller
// may hold.
//
//   way             of                                       ends                           order                            in
//   the safe run S1 ensure       old binding code                         attaches for ever, or is ended nothing no:
//   ensure_unchecked S2 check        PyTorch, Arrow, numpy's deleter          as S1, between check and use   nothing no:
//   check_then_ensure S3 check twice  pytorch/pytorch#189128                   as S2, a smaller window        nothing no:
//   check_twice S4 own flag     tvm-ffi, nanobind                        as S2, an earlier flag         nothing no:
//   flag_without_block S5 exit block   tensorstore                              leak, counted                  nothing yes S6
//   queue        PyO3, JAX, TensorFlow                    drained, then leak             anything but the queue's lock    yes S7
//   pending call pythonnet, cuda-python                   as S6; the table may be full   anything but the table's lock    yes S8
//   leak         PyO3's option, pybind11                  leak, counted                  anything                         yes S9
//   abort        PyO3's debugging option                  ends the process               anything                         no:
//   that is its purpose S10 view        PEP 788, nanobind on 3.15                leak, counted; knows its own   nothing yes
//                                                            generation
//   S11 graveyard   moolib, JAX                              as the way that it uses        a lock, until it is given up     yes
//   S12 detach      Arrow's SmartPtrNoGIL, pybind11#5522     -                              attached, while a native         yes:
//   the operation join
//                   around foreign destructors                                              destructor waits
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
