// The thing under test: a closed set of operations over some shared state.
//
// A person who adds a subject writes one class like this in a folder under harness/subjects/ and one file in fuzz/. Subjects know
// the point macro (harness/schedule/point.h) and the oracles (harness/oracle/), and nothing else of the harness.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/case/case.h"

namespace handoff {

// One broken version of the subject: what is wrong with it and who is expected to notice.
struct Twin {
  std::string_view name;      // after what is wrong: "rename_after_delete"
  std::string_view breach;    // one sentence; the public issue it puts back, or "smallest breach of <rule>"
  std::string_view detector;  // "thread", "address", or the oracle's kind: "double-delete"
};

// Threads of a program, one bit each.
using ThreadBits = std::uint32_t;

class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  // Once per process, on the main thread, before there is any other thread. `argv0` finds files that lie beside the binary.
  virtual void Initialize([[maybe_unused]] const char* argv0) {}

  // Before each execution, on the driver thread: fresh state for this case.
  virtual void Begin(const Case& c) = 0;
  // Once per carrier and process, on the carrier, one after another: what a thread of this subject needs (a thread state).
  virtual void Start([[maybe_unused]] int thread) {}
  // One operation, on its controlled thread. Must leave the thread as it found it (locks released, thread state detached).
  virtual void Apply(int thread, Operation operation) = 0;
  // After all operations, on the driver thread: on the carriers of which threads of the `program` Finish is to be called, one
  // after another (deferred work that only they can do); 0 for nobody's. Asked again after each round of Finish.
  virtual ThreadBits NeedsFinish([[maybe_unused]] ThreadBits program) { return 0; }
  virtual void Finish([[maybe_unused]] int thread) {}
  // At the end, on the driver thread: drops what is left and lets the oracles judge (oracle::Fail does not return).
  virtual void End() = 0;

  // Around a fork of the (single-threaded) process.
  virtual void BeforeFork() {}
  virtual void AfterForkParent() {}
  virtual void AfterForkChild() {}
};

}  // namespace handoff
