#include "harness/subjects/cache/python_small.h"

#include <optional>

#include "harness/schedule/point.h"
#include "harness/subjects/cache/python_defect.h"
#include "harness/subjects/cache/python_lock.h"
#include "harness/subjects/cache/python_value.h"

namespace handoff::cache::cpython {
namespace {

constexpr const char* kModuleNames[SmallCaches::kModules] = {"handoff_first", "handoff_second"};
constexpr const char* kKeywordNames[SmallCaches::kKeywords] = {"out", "where", "casting"};
// What a module's attribute is called says what happens when it is asked for.
constexpr const char* kAlone = "alone";
constexpr const char* kNeedsOther = "needs_other";
constexpr const char* kMissing = "missing";

PyObject* modules[SmallCaches::kModules];  // owned for the life of the process, by sys.modules as well
SmallCaches* asked = nullptr;              // not owned; the instance, for imports by modules' own code

bool Is(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

// A module's own code, its __getattr__: takes time, may import, may fail. A new reference.
PyObject* GetAttribute(PyObject* self, PyObject* name) {
  const int module = self == modules[0] ? 0 : 1;
  if (Is(name, kMissing)) {
    PyErr_SetString(PyExc_ImportError, "the module has nothing of that name");
    return nullptr;
  }
  if (Is(name, kNeedsOther) && asked->Import(1 - module, 1 - module, false) == nullptr) return nullptr;
  return NewValue(module);
}

PyMethodDef methods[] = {{"__getattr__", GetAttribute, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

// A new reference, or null with an exception.
PyObject* ImportAttribute(const char* module, const char* attribute) {
  PyObject* imported = PyImport_ImportModule(module);
  if (imported == nullptr) return nullptr;
  PyObject* found = PyObject_GetAttrString(imported, attribute);
  Py_DECREF(imported);
  return found;
}

}  // namespace

void SmallCaches::MakeModules() {
  for (int i = 0; i < kModules; ++i) {
    modules[i] = PyModule_New(kModuleNames[i]);
    CheckMemory(modules[i] != nullptr && PyModule_AddFunctions(modules[i], methods) == 0);
    CheckMemory(PyDict_SetItemString(PyImport_GetModuleDict(), kModuleNames[i], modules[i]) == 0);
  }
  for (const char* name : kKeywordNames) Py_XDECREF(PyUnicode_InternFromString(name));  // immortal from now on
}

// Steals `made`. Returns what is in the slot afterwards.
PyObject* SmallCaches::Publish(std::atomic<PyObject*>& slot, PyObject* made) {
  PyObject* found = nullptr;
  {
    std::optional<MutexLock> lock;
    if (!Has(Defect::kImportUnderLock)) lock.emplace(mutex_);
    // Relaxed: the mutex orders the writers.
    if (!Has(Defect::kTupleCheckedThenSet)) found = slot.load(std::memory_order_relaxed);
    HANDOFF_SYNC_POINT(&slot, "store object");
    // Release: readers without the lock see a finished object.
    if (found == nullptr) slot.store(made, std::memory_order_release);
  }
  if (found == nullptr) return made;
  Py_DECREF(made);  // without the lock, for it may run anything
  return found;
}

SmallCaches::SmallCaches() { asked = this; }

PyObject* SmallCaches::Import(int module, int needs, bool fails) {
  std::atomic<PyObject*>& slot = imported_[static_cast<std::size_t>(module)];
  HANDOFF_SYNC_POINT(&slot, "load object");
  if (PyObject* found = slot.load(std::memory_order_acquire); found != nullptr) return found;
  if (Has(Defect::kImportUnderLock)) PyMutex_Lock(&mutex_);
  const char* attribute = needs != module ? kNeedsOther : kAlone;
  PyObject* made = ImportAttribute(kModuleNames[module], fails ? kMissing : attribute);
  if (made == nullptr) return nullptr;
  PyObject* published = Publish(slot, made);
  if (Has(Defect::kImportUnderLock)) PyMutex_Unlock(&mutex_);
  return published;
}

PyObject* SmallCaches::Defaults() {
  HANDOFF_SYNC_POINT(&defaults_, "load object");
  if (PyObject* found = defaults_.load(std::memory_order_acquire); found != nullptr) return found;
  PyObject* value = NewValue(0);
  PyObject* made = PyTuple_Pack(1, value);
  Py_DECREF(value);
  CheckMemory(made != nullptr);
  return Publish(defaults_, made);
}

// Interning may allocate, and wait, but runs no code of others: so it may be done under the lock.
void SmallCaches::FillKeywords() {
  const MutexLock lock(keyword_mutex_);
  // Relaxed: the mutex orders us after whoever filled the table.
  if (keywords_filled_.load(std::memory_order_relaxed)) return;
  if (Has(Defect::kFlagBeforeTable)) keywords_filled_.store(true, std::memory_order_release);
  for (int i = 0; i < kKeywords; ++i) {
    HANDOFF_SYNC_POINT(&keywords_filled_, "intern keyword");
    keywords_[i] = PyUnicode_InternFromString(kKeywordNames[i]);
  }
  HANDOFF_SYNC_POINT(&keywords_filled_, "set flag");
  // Release: who sees the flag without the mutex sees the table.
  keywords_filled_.store(true, std::memory_order_release);
}

int SmallCaches::Find(int keyword) {
  HANDOFF_SYNC_POINT(&keywords_filled_, "load flag");
  if (!keywords_filled_.load(std::memory_order_acquire)) FillKeywords();
  PyObject* wanted = PyUnicode_InternFromString(kKeywordNames[keyword]);  // as in a call: the caller's own reference
  Py_DECREF(wanted);
  int at = 0;
  while (at < kKeywords && keywords_[at] != wanted) ++at;
  return at;
}

SmallCaches::~SmallCaches() {
  for (const auto& slot : imported_) Py_XDECREF(slot.load(std::memory_order_relaxed));
  Py_XDECREF(defaults_.load(std::memory_order_relaxed));
  for (PyObject* keyword : keywords_) Py_XDECREF(keyword);
}

}  // namespace handoff::cache::cpython
