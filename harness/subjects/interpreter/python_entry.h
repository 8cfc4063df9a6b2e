// Ways into the two interpreters of one process: the main one and a subinterpreter that has its own GIL, or none.
//
// A thread state belongs to one interpreter. PyGILState_Ensure knows the main one only, and takes whatever state this thread
// attached last for that one's (python/cpython#59956); so whoever enters for an object's sake names the interpreter, and makes a
// state for it. To the lock order being attached is a lock.
#pragma once

#include <memory>
#include <type_traits>

#include "harness/python/embed.h"

namespace handoff::interpreter {

// The owners of references. Also numbers of the release watch.
inline constexpr int kMain = 0;
inline constexpr int kSub = 1;
inline constexpr int kInterpreters = 2;

// Before each execution: new nodes for the lock order.
void ForgetEntries();

// Which interpreter the calling thread is attached to; -1: none. Never asks more of an interpreter than its address.
int Here();

// Once per thread that lives as long as the process and has a state of the main interpreter: carrier `thread`, on it, after
// python::MakeThreadState, or -1 for the main thread. It attaches that one from then on; all others make a state for each entry.
void UseOwnState(int thread);

// The number of the calling thread, as RunInside was told last; for code that CPython calls.
int ThisThread();

// Runs `work(context)` attached to `interpreter`, and leaves the thread as it was; at once if it is attached there already.
// False, and nothing is run, if the interpreter has ended. That is no help against one that ends at the same time: check and
// attach are two steps (python/cpython#124619); the caller keeps it from ending.
bool RunInside(int thread, int interpreter, void (*work)(void* context), void* context);

template <typename Work>
bool Inside(int thread, int interpreter, Work work) {
  return RunInside(thread, interpreter, [](void* context) { (*static_cast<Work*>(context))(); }, std::addressof(work));
}

// As python::RunBytecode, which is for the main interpreter, in the one that the thread is attached to.
void RunOwnBytecode();

// While it lives the lock order knows that the thread is attached, though not by RunInside: CPython has called it.
class CalledByPython {
 public:
  CalledByPython();
  ~CalledByPython();
  CalledByPython(const CalledByPython&) = delete;
  CalledByPython& operator=(const CalledByPython&) = delete;

 private:
  const int node_;
};

// While it lives the thread is detached: around everything that waits, and before anything that may end an interpreter.
class Outside {
 public:
  explicit Outside(int thread);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  const int thread_;
  const int before_;
  PyThreadState* state_ = nullptr;  // owned by its interpreter; null if the thread was detached anyway
};

}  // namespace handoff::interpreter
