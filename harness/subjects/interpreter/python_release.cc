#include "harness/subjects/interpreter/python_release.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/lock.h"
#include "harness/subjects/interpreter/release_watch.h"

namespace handoff::interpreter::python_release {
namespace {

// What the ways need around an interpreter.
struct Exit {
  explicit Exit(int interpreter) : node(lock_order::NewNode("exit block", interpreter)), queue_lock("queue lock", interpreter) {}

  // S5. Releases hold it shared from the test until they have dropped the reference; Close closes it exclusively.
  std::shared_mutex gate;
  bool gate_closed = false;       // guarded by gate
  std::atomic<bool> flag{false};  // of the twin without the gate
  const int node;                 // of the lock order

  // S6.
  Mutex queue_lock;
  std::vector<PythonReference*> queue;  // guarded by queue_lock; owned
  bool queue_closed = false;            // likewise

  std::atomic<bool> closing{false};  // claimed by the one who closes
};

std::optional<Exit> exits[kInterpreters];  // made anew before each execution

void Attach(int thread, PythonReference* reference) {
  release_watch::AttachBegins(reference->interpreter);
  const int number = reference->number;
  const auto drop = [reference] { python_reference::Drop(reference); };
  if (!Inside(thread, reference->interpreter, drop)) python_reference::GiveUp(reference);
  if (Has(Defect::kReleasedTwice)) release_watch::Leaked(number);
}

// S1 to S3: PyGILState_Ensure with none, one or two tests whether the interpreter has ended. They ask CPython's flags, which are
// set after the atexit callbacks, when whoever is let in is not waited for any more. S1 asks nobody.
void ByEnsure(int thread, PythonReference* reference, int tests) {
  const Outside outside(thread);
  if (tests > 0) {
    if (Py_IsInitialized() == 0 || (tests > 1 && Py_IsFinalizing() != 0)) return python_reference::GiveUp(reference);
    release_watch::AttachBegins(reference->interpreter);
  }
  HANDOFF_SYNC_POINT(reference->payload, "ensure");
  const PyGILState_STATE state = PyGILState_Ensure();
  if (tests > 1 && Py_IsFinalizing() != 0) {
    python_reference::GiveUp(reference);
  } else {
    python_reference::Drop(reference);
  }
  PyGILState_Release(state);
}

// S4: the flag says the same as the gate, but nobody waits for those who have passed it.
void ByFlag(int thread, PythonReference* reference) {
  Exit& exit = *exits[reference->interpreter];
  HANDOFF_SYNC_POINT(&exit, "load exit flag");
  if (exit.flag.load(std::memory_order_acquire)) return python_reference::GiveUp(reference);
  HANDOFF_SYNC_POINT(&exit, "go on to attach");
  Attach(thread, reference);
}

// S5.
void ByGate(int thread, PythonReference* reference) {
  Exit& exit = *exits[reference->interpreter];
  lock_order::Waits(thread, exit.node);
  const std::shared_lock gate(exit.gate);
  lock_order::Got(thread, exit.node);
  if (exit.gate_closed || Has(Defect::kLeaksWhileAlive)) {
    python_reference::GiveUp(reference);
  } else {
    Attach(thread, reference);
  }
  lock_order::Gave(thread, exit.node);
}

std::vector<PythonReference*> TakeQueue(int thread, Exit& exit, bool close) {
  std::vector<PythonReference*> batch;
  const Locked locked(thread, exit.queue_lock);
  batch.swap(exit.queue);
  if (close && batch.empty() && !Has(Defect::kQueueNotClosed)) exit.queue_closed = true;
  return batch;
}

void DrainUnderLock(int thread, Exit& exit) {
  const Locked locked(thread, exit.queue_lock);
  while (!exit.queue.empty()) {
    PythonReference* reference = exit.queue.back();
    exit.queue.pop_back();
    python_reference::Drop(reference);
  }
}

void DrainQueue(int thread, Exit& exit, bool close) {
  if (Has(Defect::kDrainUnderLock)) DrainUnderLock(thread, exit);
  for (auto batch = TakeQueue(thread, exit, close); !batch.empty(); batch = TakeQueue(thread, exit, close)) {
    for (PythonReference* reference : batch) python_reference::Drop(reference);
  }
}

void CloseGate(int thread, int interpreter) {
  Exit& exit = *exits[interpreter];
  if (Has(Defect::kFlagWithoutBlock)) {
    release_watch::GateClosed(interpreter);  // first: whoever sees the flag may give up
    exit.flag.store(true, std::memory_order_release);
    return;
  }
  lock_order::Waits(thread, exit.node);
  const std::scoped_lock gate(exit.gate);
  exit.gate_closed = true;
  release_watch::GateClosed(interpreter);
}

// CPython calls it attached, on the main thread of the main interpreter. An error would stop the calls behind it.
int DrainMain(void* /*nothing*/) {
  Drain(ThisThread(), kMain);
  return 0;
}

int DropPending(void* reference) {
  python_reference::Drop(static_cast<PythonReference*>(reference));
  return 0;
}

PyObject* AtExit(PyObject* /*self*/, PyObject* /*arguments*/) {
  const CalledByPython called;
  Close(ThisThread(), Here());
  Py_RETURN_NONE;
}

PyMethodDef at_exit = {"close", AtExit, METH_NOARGS, nullptr};

}  // namespace

void CloseAtExit(int interpreter) {
  PyObject* module = PyImport_ImportModule("atexit");
  PyObject* function = PyCFunction_New(&at_exit, nullptr);
  PyObject* done = module == nullptr ? nullptr : PyObject_CallMethod(module, "register", "O", function);
  if (done == nullptr)
    oracle::Fail("harness", "", "CPython could not register an atexit callback for interpreter %d.", interpreter);
  Py_DECREF(done);
  Py_DECREF(function);
  Py_DECREF(module);
}

void Open() {
  for (int i = 0; i < kInterpreters; ++i) exits[i].emplace(i);
}

void ByExitBlock(int thread, PythonReference* reference) {
  const int interpreter = reference->interpreter;
  if (Has(Defect::kReleaseDetached)) return python_reference::Drop(reference);
  if (Has(Defect::kGateUnderGil)) return ByGate(thread, reference);
  // Attached already: nothing can end before we detach, and waiting for the gate now could wait for ourselves. In the last
  // collection of an interpreter too, when Py_IsInitialized says no.
  if (Here() == interpreter) return python_reference::Drop(reference);
  if (Has(Defect::kAbortOffThread)) std::abort();
  if (Has(Defect::kReleaseInWrongInterpreter)) return ByEnsure(thread, reference, 1);
  if (Has(Defect::kEnsureUnchecked) && interpreter == kMain) return ByEnsure(thread, reference, 0);
  if (Has(Defect::kCheckThenEnsure) && interpreter == kMain) return ByEnsure(thread, reference, 1);
  if (Has(Defect::kCheckTwice) && interpreter == kMain) return ByEnsure(thread, reference, 2);
  const Outside outside(thread);  // of another interpreter, whose end may wait for us
  if (Has(Defect::kFlagWithoutBlock)) return ByFlag(thread, reference);
  ByGate(thread, reference);
}

void ByQueue(int thread, PythonReference* reference) {
  Exit& exit = *exits[reference->interpreter];
  {
    const Locked locked(thread, exit.queue_lock);
    if (!exit.queue_closed) {
      exit.queue.push_back(reference);
      release_watch::Pending(reference->number);
      return;
    }
  }
  // Too late for the queue. A destructor in the interpreter's last collection is attached and needs none.
  Here() == reference->interpreter ? python_reference::Drop(reference) : python_reference::GiveUp(reference);
}

void ByPendingCall(int thread, PythonReference* reference) {
  const bool in_main = reference->interpreter == kMain;
  if (Has(Defect::kPendingDropped) && in_main) {
    release_watch::Pending(reference->number);
    Py_AddPendingCall(DropPending, reference);
    return;
  }
  ByQueue(thread, reference);
  // The table is small, and a call that does not fit is refused: the reference is in the queue all the same, for the next entry.
  // After the end nobody runs calls, and there is nothing in the queue.
  if (in_main && Py_IsInitialized() != 0) Py_AddPendingCall(DrainMain, nullptr);
}

void ByLeak(int /*thread*/, PythonReference* reference) { python_reference::GiveUp(reference, release_watch::LeakedByDesign); }

bool HasQueued(int thread, int interpreter) {
  const Locked locked(thread, exits[interpreter]->queue_lock);
  return !exits[interpreter]->queue.empty();
}

void Drain(int thread, int interpreter) { DrainQueue(thread, *exits[interpreter], false); }

void Close(int thread, int interpreter) {
  Exit& exit = *exits[interpreter];
  HANDOFF_SYNC_POINT(&exit, "claim the close");
  // Relaxed: only one thread gets on, and what it does is ordered by the locks.
  if (exit.closing.exchange(true, std::memory_order_relaxed)) return;
  {
    // Detached: those who hold the gate open want to attach.
    const Outside outside(thread);
    CloseGate(thread, interpreter);
  }
  DrainQueue(thread, exit, true);
}

void FillPendingCalls() {
  if (Py_IsInitialized() == 0) return;
  while (Py_AddPendingCall([](void*) { return 0; }, nullptr) == 0) {
  }
}

}  // namespace handoff::interpreter::python_release
