#include "harness/subjects/interpreter/python_entry.h"

#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/python/subinterpreter.h"
#include "harness/python/thread_state.h"
#include "harness/schedule/point.h"

namespace handoff::interpreter {
namespace {

int nodes[kInterpreters];  // of the lock order; also what stands for an interpreter at points

thread_local int this_thread = 0;
thread_local bool has_own_state = false;
thread_local int own_state = -1;

struct Entry {
  int thread;
  int interpreter;
  void (*work)(void* context);
  void* context;
};

void Enter(void* context) {
  const Entry& entry = *static_cast<const Entry*>(context);
  lock_order::Got(entry.thread, nodes[entry.interpreter]);
  entry.work(entry.context);
  lock_order::Gave(entry.thread, nodes[entry.interpreter]);
}

bool RunInMain(Entry& entry) {
  if (Py_IsInitialized() == 0) return false;
  if (has_own_state) {
    own_state < 0 ? python::AttachMain() : python::Attach(own_state);
    Enter(&entry);
    own_state < 0 ? python::DetachMain() : python::Detach(own_state);
    return true;
  }
  PyThreadState* state = PyThreadState_New(PyInterpreterState_Main());
  if (state == nullptr) oracle::Fail("harness", "", "CPython could not make a thread state: memory is short.");
  PyEval_RestoreThread(state);
  Enter(&entry);
  PyThreadState_Clear(state);
  PyThreadState_DeleteCurrent();
  return true;
}

}  // namespace

void ForgetEntries() {
  lock_order::Reset();
  for (int i = 0; i < kInterpreters; ++i) nodes[i] = lock_order::NewNode("interpreter", i);
}

int Here() {
  PyThreadState* state = PyThreadState_GetUnchecked();
  if (state == nullptr) return -1;
  return PyThreadState_GetInterpreter(state) == PyInterpreterState_Main() ? kMain : kSub;
}

void UseOwnState(int thread) {
  has_own_state = true;
  own_state = thread;
}

int ThisThread() { return this_thread; }

bool RunInside(int thread, int interpreter, void (*work)(void* context), void* context) {
  this_thread = thread;
  if (Here() == interpreter) {
    work(context);
    return true;
  }
  const Outside outside(thread);  // of the other one
  lock_order::Waits(thread, nodes[interpreter]);
  HANDOFF_SYNC_POINT(&nodes[interpreter], "attach");
  Entry entry{thread, interpreter, work, context};
  return interpreter == kSub ? python::RunInSubinterpreter(Enter, &entry) : RunInMain(entry);
}

void RunOwnBytecode() {
  PyObject* globals = PyDict_New();
  PyObject* result = globals == nullptr ? nullptr : PyRun_String("None", Py_eval_input, globals, globals);
  if (result == nullptr) oracle::Fail("harness", "", "Expected the program `None` to run, found an exception: is memory short?");
  Py_DECREF(result);
  Py_DECREF(globals);
}

CalledByPython::CalledByPython() : node_(nodes[Here() == kMain ? kMain : kSub]) { lock_order::Got(this_thread, node_); }
CalledByPython::~CalledByPython() { lock_order::Gave(this_thread, node_); }

Outside::Outside(int thread) : thread_(thread), before_(Here()) {
  if (before_ < 0) return;
  lock_order::Gave(thread_, nodes[before_]);
  state_ = PyEval_SaveThread();
}

Outside::~Outside() {
  if (before_ < 0) return;
  lock_order::Waits(thread_, nodes[before_]);
  PyEval_RestoreThread(state_);
  lock_order::Got(thread_, nodes[before_]);
}

}  // namespace handoff::interpreter
