#include "harness/python/embed.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/oracle/verdict.h"
#include "harness/python/thread_state.h"

#ifndef Py_GIL_DISABLED
#error "Expected the headers of a free-threaded CPython (configured with --disable-gil)."
#endif

namespace handoff::python {
namespace {

PyThreadState* main_state = nullptr;  // the interpreter's first; used by the main thread only
PyObject* small_program = nullptr;    // code that does nothing; owned, shared by all threads, read only
PyObject* is_gil_enabled = nullptr;   // sys._is_gil_enabled; owned
PyObject* collect = nullptr;          // gc.collect; owned

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "handoff: %s\n", text.c_str());
  std::exit(1);
}

std::string FolderOf(const char* argv0) {
  char path[PATH_MAX];
  // Without a slash the shell has found the binary through PATH; the kernel knows where.
  const char* name = std::string(argv0).find('/') == std::string::npos ? "/proc/self/exe" : argv0;
  if (realpath(name, path) == nullptr) return ".";
  const std::string full = path;
  return full.substr(0, full.rfind('/'));
}

bool HoldsLibrary(const std::string& home) {
  const std::string version = std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
  return access((home + "/lib/python" + version + "t/encodings/__init__.py").c_str(), R_OK) == 0;
}

std::string FindHome(const char* argv0) {
  std::string beside = FolderOf(argv0) + "/python";
  if (HoldsLibrary(beside)) return beside;
  if (HoldsLibrary(HANDOFF_PYTHON_HOME)) return HANDOFF_PYTHON_HOME;
  Die("expected CPython's standard library in " + beside +
      " or " HANDOFF_PYTHON_HOME
      ", found neither. Run scripts/handoff setup, or move the folder python together with the binary.");
}

void Check(const PyStatus& status) {
  if (PyStatus_Exception(status) != 0)
    Die(std::string("CPython did not start: ") + (status.err_msg != nullptr ? status.err_msg : ""));
}

void Start(const std::string& home, const char* argv0) {
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);  // no environment, no user site, no command line
  Check(PyConfig_SetBytesString(&config, &config.program_name, argv0));
  Check(PyConfig_SetBytesString(&config, &config.home, home.c_str()));
  config.use_environment = 0;
  config.install_signal_handlers = 0;  // ours write crash files
  config.site_import = 0;
  config.write_bytecode = 0;
  config.use_hash_seed = 1;  // else string hashes, and with them every dictionary, differ between runs of one case
  config.hash_seed = 0;
  Check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
  // A collection would stop the world at an allocation that has nothing to do with the case.
  PyGC_Disable();
}

}  // namespace

void Initialize(const char* argv0) {
  Start(FindHome(argv0), argv0);
  small_program = Py_CompileString("None", "<handoff>", Py_eval_input);
  is_gil_enabled = PySys_GetObject("_is_gil_enabled");
  PyObject* gc = PyImport_ImportModule("gc");
  if (gc != nullptr) collect = PyObject_GetAttrString(gc, "collect");
  Py_XDECREF(gc);
  if (small_program == nullptr || is_gil_enabled == nullptr || collect == nullptr)
    Die("CPython started, but its modules sys, gc and builtins do not work.");
  Py_INCREF(is_gil_enabled);
  RunBytecode();
  CheckGilIsOff();
  WarmUpThreadStates();
  main_state = PyEval_SaveThread();
}

void AttachMain() { PyEval_RestoreThread(main_state); }
void DetachMain() { PyEval_SaveThread(); }

void CheckGilIsOff() {
  PyObject* answer = PyObject_CallNoArgs(is_gil_enabled);
  if (answer != Py_False) {
    oracle::Fail("harness", "",
                 "The GIL is on. A free-threaded CPython switches it on when a module is imported that does not declare "
                 "Py_MOD_GIL_NOT_USED; nothing runs at the same time then, and no race is found.");
  }
  Py_DECREF(answer);
}

void RunBytecode() {
  PyObject* function = MakeSmallFunction();
  if (!RunSmallFunction(function))
    oracle::Fail("harness", "", "Expected the program `None` to run, found an exception: is memory short?");
  Py_DECREF(function);
}

PyObject* MakeSmallFunction() {
  // A dictionary of its own for each: a shared one would be one more object that threads race for.
  PyObject* globals = PyDict_New();
  PyObject* function = globals == nullptr ? nullptr : PyFunction_New(small_program, globals);
  if (function == nullptr) oracle::Fail("harness", "", "Expected a function of the program `None`: is memory short?");
  Py_DECREF(globals);
  return function;
}

bool RunSmallFunction(PyObject* function) {
  PyObject* result = PyObject_CallNoArgs(function);
  if (result == nullptr) PyErr_Clear();
  Py_XDECREF(result);
  return result != nullptr;
}

void Collect() {
  PyObject* found = PyObject_CallNoArgs(collect);
  if (found == nullptr) oracle::Fail("harness", "", "Expected gc.collect to work, found an exception: is memory short?");
  Py_DECREF(found);
}

void Release(PyObject* object) {
  if (PyThreadState_GetUnchecked() == nullptr) {
    oracle::Fail(
        "no-thread-state", "R11",
        "A reference to a Python object is dropped by a thread without an attached thread state. A free-threaded interpreter "
        "needs one as well: attach, drop, detach.");
  }
  Py_DECREF(object);
}

void BeforeFork() {
  AttachMain();
  PyOS_BeforeFork();
}
void AfterForkParent() {
  PyOS_AfterFork_Parent();
  DetachMain();
}
void AfterForkChild() {
  PyOS_AfterFork_Child();
  DetachMain();
}

}  // namespace handoff::python
