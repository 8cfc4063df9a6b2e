#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/finalization.h"
#include "harness/python/subinterpreter.h"
#include "harness/python/thread_state.h"

// LeakSanitizer does not look into CPython's allocator and takes what live objects hold for lost. The ledger judges leaks.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier): the sanitizer's name
// AddressSanitizer's, and null without it. NOLINTNEXTLINE(bugprone-reserved-identifier): its name
extern "C" __attribute__((weak)) int __asan_address_is_poisoned(const volatile void* address);

namespace handoff::python {
namespace {

class PythonTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { Initialize("python_test"); }
  void SetUp() override { AttachMain(); }
  void TearDown() override { DetachMain(); }

  static std::string Evaluate(const char* expression) {
    PyObject* globals = PyDict_New();
    PyObject* value = PyRun_String(expression, Py_eval_input, globals, globals);
    PyObject* text = value == nullptr ? nullptr : PyObject_Str(value);
    const std::string answer = text == nullptr ? "an exception" : PyUnicode_AsUTF8(text);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(value);
    Py_DECREF(globals);
    return answer;
  }
};

// A capsule whose destructor counts; it stands for any object.
int destroyed = 0;
PyObject* NewCounted() {
  return PyCapsule_New(&destroyed, "counted", [](PyObject* /*capsule*/) { ++destroyed; });
}

TEST_F(PythonTest, TheGilIsOffAndTheEnvironmentIsIgnored) {
  CheckGilIsOff();
  EXPECT_EQ(Evaluate("__import__('sys').flags.ignore_environment"), "1");
  EXPECT_EQ(Evaluate("__import__('sys').flags.hash_randomization"), "0");
  EXPECT_EQ(Evaluate("'site' in __import__('sys').modules"), "False");
  EXPECT_EQ(Evaluate("__import__('gc').isenabled()"), "False");
}

TEST_F(PythonTest, TheStandardLibraryIsFound) { EXPECT_EQ(Evaluate("__import__('string').digits"), "0123456789"); }

// With free lists a use of most of these after their end would look like one of a living object.
TEST_F(PythonTest, AddressSanitizerSeesObjectsDie) {
  if (__asan_address_is_poisoned == nullptr) GTEST_SKIP() << "built without AddressSanitizer";
  PyObject* const objects[] = {Py_BuildValue("[i]", 1000),
                               Py_BuildValue("(ii)", 1000, 1001),
                               PyFloat_FromDouble(0.5),
                               PyDict_New(),
                               PySlice_New(nullptr, nullptr, nullptr),
                               PyContext_New(),
                               PyLong_FromLong(1000),
                               PyByteArray_FromStringAndSize("a", 1),
                               PyCapsule_New(&destroyed, nullptr, nullptr)};
  for (PyObject* object : objects) {
    SCOPED_TRACE(Py_TYPE(object)->tp_name);
    EXPECT_EQ(__asan_address_is_poisoned(object), 0);
    Py_DECREF(object);
    EXPECT_NE(__asan_address_is_poisoned(object), 0);
  }
}

TEST_F(PythonTest, ReleaseWithAThreadStateRunsTheDestructor) {
  destroyed = 0;
  Release(NewCounted());
  EXPECT_EQ(destroyed, 1);
}

TEST_F(PythonTest, ReleaseWithoutAThreadStateBreaksR11) {
  PyObject* object = NewCounted();
  const auto release = [&] {
    DetachMain();
    Release(object);
  };
  EXPECT_DEATH(release(), "no-thread-state R11");
  Release(object);
}

TEST_F(PythonTest, AnObjectOfAnotherThreadDiesWhenItsOwnerDrains) {
  destroyed = 0;
  DetachMain();
  PyObject* object = nullptr;
  int step = 0;
  std::mutex mutex;
  std::condition_variable turn;
  const auto wait_for = [&](int n) {
    std::unique_lock lock(mutex);
    turn.wait(lock, [&] { return step == n; });
  };
  const auto advance = [&] {
    const std::scoped_lock lock(mutex);
    ++step;
    turn.notify_all();
  };
  std::thread owner([&] {
    MakeThreadState(0);
    Attach(0);
    object = NewCounted();
    Detach(0);
    advance();
    wait_for(2);
    Drain(0);
  });
  wait_for(1);
  AttachMain();
  Release(object);
  EXPECT_EQ(destroyed, 0);
  DetachMain();
  advance();
  owner.join();
  EXPECT_EQ(destroyed, 1);
  AttachMain();
}

TEST_F(PythonTest, WhatHappensAfterFinalizationIsSeenInAChild) {
  DetachMain();
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) {}, nullptr), AfterFinalization::kClean);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) { std::abort(); }, nullptr), AfterFinalization::kCrashed);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) { _exit(0); }, nullptr), AfterFinalization::kCrashed);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) { pause(); }, nullptr), AfterFinalization::kBlocked);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) { PyGILState_Ensure(); }, nullptr), AfterFinalization::kCrashed);
  AttachMain();
  EXPECT_EQ(Evaluate("1 + 1"), "2");
}

TEST_F(PythonTest, WorkBeforeTheFinalizationIsAttached) {
  DetachMain();
  const auto before = [](void*) { Release(NewCounted()); };
  const auto after = [](void*) { _exit(destroyed == 1 ? 42 : 1); };
  destroyed = 0;
  EXPECT_EQ(FinalizeInChild(before, after, nullptr), AfterFinalization::kClean);
  AttachMain();
}

TEST_F(PythonTest, WorkInASubinterpreterLeavesTheThreadAsItWas) {
  PyInterpreterState* const main = PyInterpreterState_Get();
  MakeSubinterpreter([] {});
  PyInterpreterState* seen = main;
  const auto look = [](void* out) { *static_cast<PyInterpreterState**>(out) = PyInterpreterState_Get(); };
  EXPECT_TRUE(RunInSubinterpreter(look, &seen));
  EXPECT_NE(seen, main);
  EXPECT_EQ(PyInterpreterState_Get(), main);
  DetachMain();
  EXPECT_TRUE(RunInSubinterpreter(look, &seen));
  EXPECT_EQ(PyThreadState_GetUnchecked(), nullptr);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) {}, nullptr), AfterFinalization::kClean);
  AttachMain();
  CheckInterpreter(/*expected_sub=*/false);
  EXPECT_DEATH(CheckInterpreter(/*expected_sub=*/true), "wrong-interpreter R11");
  EndSubinterpreter();
  EXPECT_FALSE(RunInSubinterpreter(look, &seen));
}

TEST_F(PythonTest, AThreadKeepsItsStateInTheSubinterpreter) {
  MakeSubinterpreter([] {});
  DetachMain();
  PyThreadState* seen[2] = {};
  const auto look = [](void* out) { *static_cast<PyThreadState**>(out) = PyThreadState_Get(); };
  std::thread([&] {
    UseSubinterpreterState();
    for (PyThreadState*& state : seen) RunInSubinterpreter(look, &state);
    EXPECT_EQ(PyThreadState_GetUnchecked(), nullptr);
  }).join();
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(FinalizeInChild(nullptr, [](void*) {}, nullptr), AfterFinalization::kClean);
  AttachMain();
  EndSubinterpreter();
}

TEST_F(PythonTest, AVerdictOfTheChildIsSaidAgain) {
  DetachMain();
  const auto work = [](void*) { oracle::Fail("double-delete", "R3", "tensor %d", 7); };
  EXPECT_DEATH(FinalizeInChild(nullptr, work, nullptr), "verdict: double-delete R3: tensor 7");
  AttachMain();
}

TEST_F(PythonTest, AForkedChildHasAWorkingInterpreter) {
  DetachMain();
  const auto child = [&] {
    BeforeFork();
    AfterForkChild();  // the death test's own child: as if it had forked itself
    AttachMain();
    exit(Evaluate("6 * 7") == "42" ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
  AttachMain();
}

}  // namespace
}  // namespace handoff::python
