#include "harness/python/thread_state.h"

#include "harness/case/case.h"
#include "harness/oracle/verdict.h"

namespace handoff::python {
namespace {

// Each written once by its carrier and used by it alone. Owned by the interpreter, which drops them in a forked child.
PyThreadState* states[kMaxThreads];

}  // namespace

void WarmUpThreadStates() {
  // On this very thread: the process must not have a second one yet.
  PyThreadState* own = PyThreadState_Get();
  PyThreadState_Swap(PyThreadState_New(PyInterpreterState_Main()));
  RunBytecode();
  PyThreadState_Clear(PyThreadState_Get());
  PyThreadState_DeleteCurrent();
  PyEval_RestoreThread(own);
}

void MakeThreadState(int thread) {
  states[thread] = PyThreadState_New(PyInterpreterState_Main());
  if (states[thread] == nullptr) oracle::Fail("harness", "", "CPython could not make a thread state: memory is short.");
  Drain(thread);
}

void Attach(int thread) { PyEval_RestoreThread(states[thread]); }
void Detach(int /*thread*/) { PyEval_SaveThread(); }

void Drain(int thread) {
  Attach(thread);
  RunBytecode();
  Detach(thread);
}

}  // namespace handoff::python
