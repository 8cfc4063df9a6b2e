#include "harness/python/subinterpreter.h"

#include "harness/oracle/verdict.h"

namespace handoff::python {
namespace {

// Written on the main thread while no other runs; owned by CPython. Null in a process without one.
PyInterpreterState* sub = nullptr;
PyThreadState* first_state = nullptr;  // the subinterpreter's own; detached, and keeps it alive

// Owned by the subinterpreter; null unless UseSubinterpreterState was called.
thread_local PyThreadState* lasting_state = nullptr;

PyThreadState* NewState() {
  PyThreadState* state = PyThreadState_New(sub);
  if (state == nullptr) oracle::Fail("harness", "", "CPython could not make a thread state: memory is short.");
  return state;
}

}  // namespace

void MakeSubinterpreter(void (*setup)()) {
  if (sub != nullptr) return;
  PyThreadState* main = PyThreadState_Get();
  const PyInterpreterConfig config = {.use_main_obmalloc = 0,
                                      .allow_fork = 1,
                                      .allow_exec = 0,
                                      .allow_threads = 1,
                                      .allow_daemon_threads = 0,
                                      .check_multi_interp_extensions = 1,
                                      .gil = PyInterpreterConfig_OWN_GIL};
  const PyStatus status = Py_NewInterpreterFromConfig(&first_state, &config);
  if (PyStatus_Exception(status) != 0) oracle::Fail("harness", "", "CPython made no subinterpreter: %s", status.err_msg);
  sub = PyThreadState_GetInterpreter(first_state);
  setup();
  PyThreadState_Swap(main);
}

void EndSubinterpreter() {
  if (sub == nullptr) return;
  PyThreadState* main = PyThreadState_Swap(first_state);
  // Py_EndInterpreter wants to be alone.
  while (PyThreadState* other = PyInterpreterState_ThreadHead(sub)) {
    if (other == first_state) other = PyThreadState_Next(other);
    if (other == nullptr) break;
    PyThreadState_Clear(other);
    PyThreadState_Delete(other);
  }
  Py_EndInterpreter(first_state);
  sub = nullptr;
  lasting_state = nullptr;
  PyThreadState_Swap(main);
}

void UseSubinterpreterState() {
  if (sub == nullptr) return;
  // The interpreter's first state is the main thread's.
  lasting_state = first_state->thread_id == PyThread_get_thread_ident() ? first_state : NewState();
}

bool RunInSubinterpreter(void (*work)(void* context), void* context) {
  if (sub == nullptr) return false;
  PyThreadState* own = PyThreadState_GetUnchecked() != nullptr ? PyEval_SaveThread() : nullptr;
  PyThreadState* state = lasting_state != nullptr ? lasting_state : NewState();
  PyEval_RestoreThread(state);
  work(context);
  if (state == lasting_state) {
    PyEval_SaveThread();
  } else {
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
  }
  if (own != nullptr) PyEval_RestoreThread(own);
  return true;
}

void CheckInterpreter(bool expected_sub) {
  PyThreadState* state = PyThreadState_GetUnchecked();
  if (state == nullptr || (PyThreadState_GetInterpreter(state) == sub) == expected_sub) return;
  oracle::Fail(
      "wrong-interpreter", "R11",
      "A reference to an object of %s is dropped by a thread that is attached to another interpreter. Remember the owner's "
      "interpreter at the export and attach to that one.",
      expected_sub ? "a subinterpreter" : "the main interpreter");
}

}  // namespace handoff::python
