#include "harness/python/thread_state.h"

#include "harness/case/case.h"
#include "harness/oracle/verdict.h"

namespace handoff::python {
namespace {

// Each written once by its carrier and used by it alone, but for the flags of its eval breaker. Owned by the interpreter, which
// drops them in a forked child.
PyThreadState* states[kMaxThreads];
// A function that does nothing, of each carrier: a shared one would be one more object that threads race for, and a new one for
// each call took a tenth of an execution. Owned, for the rest of the process.
PyObject* functions[kMaxThreads];

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
  Attach(thread);
  functions[thread] = MakeSmallFunction();
  Detach(thread);
  Drain(thread);
}

void Attach(int thread) { PyEval_RestoreThread(states[thread]); }
void Detach(int /*thread*/) { PyEval_SaveThread(); }

bool Drain(int thread) {
  Attach(thread);
  const bool clean = RunSmallFunction(functions[thread]);
  Detach(thread);
  return clean;
}

std::uint32_t WaitingToDrain() {
  std::uint32_t waiting = 0;
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    // CPython's field and, like it, relaxed: what set the flags happened before the driver asks (python/cpython, pycore_ceval.h).
    if (states[thread] != nullptr && __atomic_load_n(&states[thread]->eval_breaker, __ATOMIC_RELAXED) != 0)
      waiting |= 1U << thread;
  }
  return waiting;
}

}  // namespace handoff::python
