#include "harness/subjects/interpreter/python_side.h"

#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/python/try_incref.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

struct Wrapper {
  PyObject_HEAD CountNative* native;  // owns a strong reference; never changed
  PyObject* payload;                  // guarded by the object's critical section; owns a reference; may be null
  int number;                         // the watch's; never changed
};

PyTypeObject* type = nullptr;  // owned for the life of the process; never changed after MakeType

Wrapper* Cast(void* wrapper) { return static_cast<Wrapper*>(wrapper); }

void Dealloc(PyObject* self) {
  Wrapper* wrapper = Cast(self);
  auto* native = static_cast<PythonNative*>(wrapper->native);
  const void* token = watch::NativeToken(native->number);
  PyObject_GC_UnTrack(self);
  PyObject_ClearWeakRefs(self);  // from here on nobody takes a reference by ours
  HANDOFF_SYNC_POINT(token, "load slot");
  if (native->slot.load(std::memory_order_relaxed) == self) {
    count::CheckDealloc(*native, wrapper->number);
    if (!Has(Defect::kSlotNotCleared)) {
      PyMutex_Lock(&native->pin);
      native->slot.store(nullptr, std::memory_order_relaxed);
      PyObject* weak = std::exchange(native->weak, nullptr);
      PyMutex_Unlock(&native->pin);
      watch::WrapperWithdrawn(wrapper->number);
      Py_XDECREF(weak);
    }
  }
  Py_CLEAR(wrapper->payload);
  watch::WrapperGone(wrapper->number);
  PyObject_GC_Del(self);
  Py_DECREF(type);
  // Detached: it may be the native object's end, which may wait for anything.
  PyThreadState* state = PyEval_SaveThread();
  count::Drop(0, native);
  PyEval_RestoreThread(state);
}

// The native object is not shown to the collector: what the native side owns counts as held from outside, so that a wrapper which
// it keeps alive is never collected.
int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!Has(Defect::kPayloadNotTraversed)) Py_VISIT(Cast(self)->payload);
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(Cast(self)->payload);
  return 0;
}

}  // namespace

void PythonSide::MakeType() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "handoff.Native", sizeof(Wrapper), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_MANAGED_WEAKREF | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type == nullptr) oracle::Fail("harness", "", "CPython could not make a type: memory is short.");
}

// The check keeps a late release from attaching to an interpreter that has ended; it does not help one that comes while another
// thread ends it (python/cpython#124619).
bool PythonSide::Enter(int /*thread*/, Before& before) {
  if (PyThreadState_GetUnchecked() != nullptr || Has(Defect::kReleaseUnattached)) return true;
  if (Py_IsInitialized() == 0 && !Has(Defect::kAttachAfterEnd)) return false;
  before.state = PyGILState_Ensure();
  return before.attached = true;
}

void PythonSide::Leave(int /*thread*/, const Before& before) {
  if (before.attached) PyGILState_Release(static_cast<PyGILState_STATE>(before.state));
}

void* PythonSide::NewWrapper(int /*thread*/, CountNative* native) {
  Wrapper* wrapper = PyObject_GC_New(Wrapper, type);
  if (wrapper == nullptr) oracle::Fail("harness", "", "CPython could not make an object: memory is short.");
  wrapper->native = native;
  wrapper->payload = nullptr;
  wrapper->number = watch::WrapperMade(native->number);
  // Before anybody else can see it (C7).
  if (!Has(Defect::kTryIncrefNotEnabled)) python::EnableTryIncref(reinterpret_cast<PyObject*>(wrapper));
  PyObject_GC_Track(wrapper);
  return wrapper;
}

void PythonSide::Incref(int /*thread*/, void* wrapper) { Py_INCREF(static_cast<PyObject*>(wrapper)); }
void PythonSide::Decref(int /*thread*/, void* wrapper) { python::Release(static_cast<PyObject*>(wrapper)); }

void PythonSide::Published(int /*thread*/, CountNative& native, void* wrapper) {
  PyObject* weak = PyWeakref_NewRef(static_cast<PyObject*>(wrapper), nullptr);
  if (weak == nullptr) oracle::Fail("harness", "", "CPython could not make a weak reference: memory is short.");
  auto& of = static_cast<PythonNative&>(native);
  PyMutex_Lock(&of.pin);
  PyObject* old = std::exchange(of.weak, weak);
  PyMutex_Unlock(&of.pin);
  Py_XDECREF(old);
}

bool PythonSide::TryTake(int /*thread*/, CountNative& native) {
  auto& of = static_cast<PythonNative&>(native);
  HANDOFF_SYNC_POINT(watch::NativeToken(native.number), "take weak reference");
  if (Has(Defect::kIncrefForTryIncref)) {
    auto* wrapper = static_cast<PyObject*>(native.slot.load(std::memory_order_acquire));
    Py_XINCREF(wrapper);
    return wrapper != nullptr;
  }
  PyMutex_Lock(&of.pin);
  PyObject* weak = Py_XNewRef(of.weak);
  PyMutex_Unlock(&of.pin);
  if (weak == nullptr) return false;
  PyObject* wrapper = nullptr;
  const bool alive = PyWeakref_GetRef(weak, &wrapper) == 1;
  Py_DECREF(weak);
  return alive;
}

int PythonSide::Number(const void* wrapper) const { return static_cast<const Wrapper*>(wrapper)->number; }
void PythonSide::Free(CountNative* native) { delete static_cast<PythonNative*>(native); }

PyObject* LookUp(CountNative& native) {
  auto& of = static_cast<PythonNative&>(native);
  HANDOFF_SYNC_POINT(watch::NativeToken(native.number), "look up");
  PyMutex_Lock(&of.pin);  // so does the wrapper's dealloc, before it frees the memory
  auto* wrapper = static_cast<PyObject*>(native.slot.load(std::memory_order_acquire));
  if (wrapper != nullptr && Has(Defect::kIncrefForTryIncref)) {
    Py_INCREF(wrapper);
  } else if (wrapper != nullptr && !python::TryIncref(wrapper)) {
    wrapper = nullptr;
  }
  PyMutex_Unlock(&of.pin);
  return wrapper;
}

CountNative* NativeOf(PyObject* wrapper) { return Cast(wrapper)->native; }

void MakeCycle(PyObject* wrapper) {
  PyObject* list = PyList_New(0);
  if (list == nullptr || PyList_Append(list, wrapper) != 0)
    oracle::Fail("harness", "", "CPython could not make a list: memory is short.");
  Py_BEGIN_CRITICAL_SECTION(wrapper);
  if (Cast(wrapper)->payload == nullptr) Cast(wrapper)->payload = std::exchange(list, nullptr);
  Py_END_CRITICAL_SECTION();
  Py_XDECREF(list);
}

}  // namespace handoff::interpreter
