// A cell that holds one Python object for all threads of a free-threaded CPython: they put a new one, look at it, or clear the
// cell.
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/thread_state.h"
#include "harness/run/target.h"
#include "harness/schedule/point.h"
#include "harness/subjects/python_subject.h"

namespace {

namespace python = handoff::python;

enum Code : int { kSet, kGet, kClear };  // indexes kOperations
constexpr handoff::OperationKind kOperations[] = {
    {.name = "set", .arguments = {{{.name = "n", .values = 3}}}, .argument_count = 1}, {.name = "get"}, {.name = "clear"}};
constexpr handoff::Twin kTwins[] = {
    {"reference_without_lock", "nothing keeps the object between the load of its pointer and the INCREF", "address"}};

class Cell final : public handoff::PythonSubject {
 public:
  explicit Cell(bool broken) : broken_(broken) {}

  void Begin(const handoff::Case&) override { alive_ = 0; }

  void Apply(int thread, handoff::Operation operation) override {
    python::Attach(thread);
    if (operation.code == kGet) {
      PyObject* object = Get();
      if (object != nullptr && PyList_Size(object) != 2) handoff::oracle::Fail("wrong-value", "", "Expected a list of two.");
      Py_XDECREF(object);
    } else {
      Set(operation.code == kSet ? NewList(operation.arguments[0]) : nullptr);
    }
    python::Detach(thread);  // else a collection on another thread would wait for this one
  }

 private:
  void DropEverything() override {
    python::AttachMain();
    Set(nullptr);
    python::DetachMain();
  }
  bool Outstanding() override { return alive_ != 0; }
  void Judge() override {
    if (alive_ != 0) handoff::oracle::Fail("missing-delete", "", "All references were dropped, and some lists are still alive.");
  }

  // A new reference to [n, capsule]; the capsule's destructor tells that the list is gone.
  PyObject* NewList(int n) {
    ++alive_;
    PyObject* capsule = PyCapsule_New(
        &alive_, nullptr, [](PyObject* self) { --*static_cast<std::atomic<int>*>(PyCapsule_GetPointer(self, nullptr)); });
    return Py_BuildValue("[iN]", n, capsule);
  }

  // A new reference, or null.
  PyObject* Get() {
    if (!broken_) PyMutex_Lock(&mutex_);
    HANDOFF_SYNC_POINT(&cell_, "load");
    PyObject* object = cell_.load(std::memory_order_acquire);  // acquire: the object was made before it was put there
    HANDOFF_SYNC_POINT(&cell_, "take reference");
    Py_XINCREF(object);
    if (!broken_) PyMutex_Unlock(&mutex_);
    return object;
  }

  // Takes over the reference. The old object dies outside of the lock: its destructor may run anything.
  void Set(PyObject* object) {
    PyMutex_Lock(&mutex_);
    HANDOFF_SYNC_POINT(&cell_, "exchange");
    PyObject* old = cell_.exchange(object, std::memory_order_acq_rel);  // release: whoever loads it sees it whole
    PyMutex_Unlock(&mutex_);
    Py_XDECREF(old);
  }

  const bool broken_;
  PyMutex mutex_ = {};                     // whoever waits for it is detached meanwhile, so that it holds up no collection
  std::atomic<PyObject*> cell_ = nullptr;  // owns a reference
  std::atomic<int> alive_ = 0;             // lists that were made and are not gone
};

}  // namespace

const handoff::Target& handoff::TheTarget() {
  static const Target target = {.name = "example_cell",
                                .summary = "Puts, looks at and clears one shared Python object. Does not cover collections.",
                                .carrier = schedule::Carrier::kThread,
                                .alphabet = {kOperations},
                                .twins = kTwins,
                                .make = [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<Cell>(twin >= 0); },
                                .warm_access_may_differ = true};
  return target;
}
