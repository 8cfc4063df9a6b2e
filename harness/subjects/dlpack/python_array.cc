#include "harness/subjects/dlpack/python_array.h"

#include "harness/oracle/verdict.h"
#include "harness/python/subinterpreter.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/deferred.h"
#include "harness/subjects/dlpack/exchange_api.h"
#include "harness/subjects/dlpack/negotiation.h"
#include "harness/subjects/dlpack/python_capsule.h"

namespace handoff::dlpack {
namespace {

struct PythonArray {
  PyObject_HEAD Array* array;  // owns a reference; never null, never changed
  Kind kind;                   // never changed
  PyObject* cached;            // owns a reference; null but for kCached; guarded by the object's critical section
};

// Owned by this file for the life of the process; never changed after MakePythonTypes.
PyTypeObject* array_type = nullptr;
PyTypeObject* sub_type = nullptr;    // the same in the subinterpreter, and owned by it
PyTypeObject* newer_type = nullptr;  // the same with the exchange API of a later major version in front
PyObject* dlpack_name = nullptr;     // "__dlpack__"
PyObject* max_version = nullptr;     // our own version, as a consumer passes it
PyObject* keyword_names = nullptr;   // ("max_version",)

PythonArray* Cast(PyObject* object) { return reinterpret_cast<PythonArray*>(object); }

// An owner in another interpreter: attach to that one, or leak the owner if it is gone.
void ReleaseInSubinterpreter(PyObject* owner) {
  const auto release = [](void* object) {
    python::CheckInterpreter(/*expected_sub=*/true);
    python::Release(static_cast<PyObject*>(object));
  };
  python::RunInSubinterpreter(release, owner);
}

// A deleter runs on any thread, at any time, and three of its designs are built here: "attach" below; "pure C++"
// (managed_tensor.cc), which needs no Python at all; and "deferred" (deferred.h), which never attaches.
//
// A fourth needs CPython 3.15 and is not built (PEP 788). An export takes a view of its interpreter
// (PyInterpreterView_FromCurrent) and keeps it in manager_ctx beside the owner. Its deleter calls PyThreadState_EnsureFromView,
// drops the owner, and ends with PyThreadState_Release and PyInterpreterView_Close. Check and attach are one step: while the
// state is attached that way, finalisation does not begin, and once it has begun the call returns NULL without an exception and
// without waiting, so that the deleter leaks. A view names one interpreter, a subinterpreter as well, and one that was finalised
// and initialised again is another; so neither the check of Py_IsInitialized nor the choice of an interpreter below is needed. A
// guard (PyInterpreterGuard_FromView, or _FromCurrent, with PyThreadState_Ensure) keeps the interpreter alive until
// PyInterpreterGuard_Close. That is for code that is under way, a worker that a caller will join; in manager_ctx it would be
// wrong, since a consumer that never deletes would make the process wait at its exit for ever. What no view changes: the deleter
// still waits to attach, so a lock that its caller holds must never be waited for attached (kLocked in capsule.cc).

// The deleter's design "attach": whatever thread it runs on, it makes sure that a thread state is attached before it touches
// Python (R11). PyGILState_Ensure nests on a thread that is attached, attaches one that is not, and makes a state for one that
// never had any. The check before it keeps a late deleter from attaching to a dead interpreter and leaks the owner instead, as
// the DLPack specification's example does. It does not help a deleter that runs *while* another thread finalises: check and
// attach are two steps (python/cpython#124619), which hang or crash it.
void ReleaseOwner(PyObject* owner) {
  if (owner == nullptr) return;
  if (Has(Defect::kDeleterWithoutThreadState)) {
    python::Release(owner);
    return;
  }
  if (Py_IsInitialized() == 0 && !Has(Defect::kDeleterAttachesAfterFinalization)) return;
  HANDOFF_SYNC_POINT(TokenOf(owner), "attach in deleter");
  const bool in_sub = Py_TYPE(owner) == sub_type;
  if (in_sub && !Has(Defect::kDeleterAttachesMainInterpreter)) {
    ReleaseInSubinterpreter(owner);
    return;
  }
  const PyGILState_STATE state = PyGILState_Ensure();
  python::CheckInterpreter(in_sub);
  python::Release(owner);
  PyGILState_Release(state);
}

template <typename Managed>
void DeleteAttaching(Managed* self) {
  ReleaseOwner(static_cast<PyObject*>(EndExport(self)));
}

// The deleter's design "deferred".
template <typename Managed>
void DeleteDeferred(Managed* self) {
  DropLater(static_cast<PyObject*>(EndExport(self)));
}

template <typename Managed>
Managed* ExportPython(PyObject* self, Kind kind) {
  PyObject* owner = Has(Defect::kExportWithoutRetain) ? nullptr : Py_NewRef(self);
  return NewExport<Managed>(*Cast(self)->array, kind, owner,
                            kind == Kind::kDeferred ? DeleteDeferred<Managed> : DeleteAttaching<Managed>);
}

// A copy belongs to no Python object: the pure C++ producer serves it.
PyObject* ExportCopy(const Array& from) {
  return NewCapsule(ExportVersioned(NewCopy(from), Has(Defect::kCopiedFlagMissing) ? Kind::kVersioned : Kind::kCopied));
}

// Once a capsule was consumed its name is all that keeps the next consumer out (R9), who may be running at the same time. The
// tensor holds the native array, since with `self` capsule and array would keep each other alive for ever.
PyObject* NewCapsuleToKeep(PyObject* self) { return NewCapsule(ExportVersioned(Retain(Cast(self)->array), Kind::kVersioned)); }

PyObject* KeptOr(PyObject* self, PyObject* capsule) {
  PyObject*& cached = Cast(self)->cached;
  if (cached == nullptr) {
    HANDOFF_SYNC_POINT(TokenOf(self), "keep capsule");
    cached = Py_XNewRef(capsule);
  }
  return Py_XNewRef(cached);
}

// Two threads may both find none and make one: what is kept counts, and the other goes as any capsule that nobody consumed.
// Nothing is made or dropped inside the section, which would be suspended if the thread detached.
PyObject* CachedCapsule(PyObject* self) {
  if (Has(Defect::kCachedCapsuleUnlocked)) {
    if (Cast(self)->cached != nullptr) return Py_NewRef(Cast(self)->cached);
    PyObject* made = NewCapsuleToKeep(self);
    Cast(self)->cached = Py_NewRef(made);
    return made;
  }
  PyObject* kept = nullptr;
  HANDOFF_SYNC_POINT(TokenOf(self), "lock array");
  Py_BEGIN_CRITICAL_SECTION(self);
  kept = KeptOr(self, nullptr);
  Py_END_CRITICAL_SECTION();
  if (kept != nullptr) return kept;
  PyObject* made = NewCapsuleToKeep(self);
  HANDOFF_SYNC_POINT(TokenOf(self), "lock array");
  Py_BEGIN_CRITICAL_SECTION(self);
  kept = KeptOr(self, made);
  Py_END_CRITICAL_SECTION();
  python::Release(made);
  return kept;
}

PyObject* CapsuleOf(PyObject* self, const Request& request) {
  const Kind kind = Cast(self)->kind;
  if (kind == Kind::kCached) return CachedCapsule(self);
  const bool own = kind == Kind::kCopied && request.own_memory;
  DLManagedTensorVersioned* tensor =
      own ? ExportPython<DLManagedTensorVersioned>(self, Kind::kVersioned) : ExportVersionedFromPython(self);
  ledger::AskedByVersion(tensor);
  return NewCapsule(tensor);
}

PyObject* Dlpack(PyObject* self, PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  if (!KnowsKeywords(self) && names != nullptr && PyTuple_GET_SIZE(names) != 0) {
    PyErr_SetString(PyExc_TypeError, "__dlpack__() takes no keyword arguments");
    return nullptr;
  }
  Request request;
  if (!ParseRequest(arguments, positional, names, request)) return nullptr;
  const Array& array = *Cast(self)->array;
  if (request.copy) return ExportCopy(array);
  if (request.versioned) return CapsuleOf(self, request);
  if (!CanDescribe(array, Kind::kLegacy) && !Has(Defect::kReadOnlyFlagLost)) {
    PyErr_SetString(PyExc_BufferError, "a legacy struct cannot say that the array is read-only or padded");  // R32
    return nullptr;
  }
  return NewCapsule(ExportPython<DLManagedTensor>(self, Kind::kLegacy));
}

PyObject* DlpackDevice(PyObject* /*self*/, PyObject* /*unused*/) { return Py_BuildValue("(ii)", int{kDLCPU}, 0); }

// What a library's from_dlpack begins with. Null, with the producer's exception, if it refuses.
PyObject* AskForCapsule(PyObject* object, bool by_version) {
  PyObject* const arguments[] = {object, max_version};
  PyObject* capsule = PyObject_VectorcallMethod(dlpack_name, arguments, 1, by_version ? keyword_names : nullptr);
  if (capsule != nullptr) return capsule;
  // R25: a producer from before there were keywords. Whatever else is wrong raises its exception again, or is told by it (R28).
  if (by_version && PyErr_ExceptionMatches(PyExc_TypeError) != 0 && !Has(Defect::kKeywordsNotRetried)) {
    PyErr_Clear();
    return AskForCapsule(object, /*by_version=*/false);
  }
  if (Has(Defect::kMissingMethodDisguised)) PyErr_SetString(PyExc_RuntimeError, "not an array");
  return nullptr;
}

void Deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  const void* token = TokenOf(self);
  if (PyObject* cached = Cast(self)->cached; cached != nullptr) python::Release(cached);
  Drop(Cast(self)->array);  // may run the deleter of what was imported (R10)
  HANDOFF_SYNC_POINT(token, "free Python array");
  ledger::ObjectGone();
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Dlpack)), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", DlpackDevice, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"handoff.Array", sizeof(PythonArray), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void MakePythonTypes() {
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  newer_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  max_version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  keyword_names = Py_BuildValue("(N)", PyUnicode_InternFromString("max_version"));
  if (array_type == nullptr || newer_type == nullptr || dlpack_name == nullptr || max_version == nullptr ||
      keyword_names == nullptr) {
    oracle::Fail("harness", "", "CPython could not make the type handoff.Array: memory is short.");
  }
  PublishExchangeApi(array_type, /*newer=*/false);
  PublishExchangeApi(newer_type, /*newer=*/true);
}

void MakeSubinterpreterTypes() {
  sub_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (sub_type == nullptr) oracle::Fail("harness", "", "CPython could not make the type handoff.Array: memory is short.");
}

PyObject* NewPythonArray(Array* array, Kind kind) {
  HANDOFF_SYNC_POINT(nullptr, "allocate Python array");
  PyTypeObject* type = kind == Kind::kNextMajor ? newer_type : array_type;
  PyObject* object = type->tp_alloc(type, 0);
  Cast(object)->array = array;
  Cast(object)->kind = kind;
  ledger::ObjectMade();
  return object;
}

Array* NativeArray(PyObject* object) { return Cast(object)->array; }
const void* TokenOf(PyObject* object) { return TokenOf(*Cast(object)->array); }

bool KnowsKeywords(PyObject* object) { return Cast(object)->kind != Kind::kNoKeywords; }

DLManagedTensorVersioned* ExportVersionedFromPython(PyObject* object) {
  const Kind kind = Cast(object)->kind;
  // R24: a copy belongs to no Python object.
  if (kind == Kind::kCopied && !Has(Defect::kCopiedFlagOnOwnMemory)) return ExportVersioned(Retain(Cast(object)->array), kind);
  return ExportPython<DLManagedTensorVersioned>(object, kind == Kind::kLegacy ? Kind::kVersioned : kind);
}

DLManagedTensorVersioned* ExportFromSubinterpreter(Array* array) {
  struct Work {
    Array* array;
    DLManagedTensorVersioned* tensor;
  } work{array, nullptr};
  const auto run = [](void* context) {
    auto* w = static_cast<Work*>(context);
    PyObject* object = sub_type->tp_alloc(sub_type, 0);
    Cast(object)->array = w->array;
    Cast(object)->kind = Kind::kVersioned;
    ledger::ObjectMade();
    w->tensor = ExportVersionedFromPython(object);
    python::Release(object);  // the export keeps it
  };
  HANDOFF_SYNC_POINT(TokenOf(*array), "export in subinterpreter");
  if (!python::RunInSubinterpreter(run, &work)) Drop(array);
  return work.tensor;
}

PyObject* CallDlpack(PyObject* object) {
  PyObject* capsule = AskForCapsule(object, /*by_version=*/Cast(object)->kind != Kind::kLegacy);
  if (capsule != nullptr) return capsule;
  if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    oracle::Fail("protocol", "R25",
                 "A consumer gives up on a producer that does not know its keywords. It must ask again without them.");
  }
  PyErr_Clear();
  return nullptr;
}

void CallMissingDlpack() {
  PyObject* capsule = AskForCapsule(Py_None, /*by_version=*/true);
  if (capsule != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    oracle::Fail("protocol", "R28", "A consumer does not let the AttributeError pass that an object without __dlpack__ raises.");
  }
  PyErr_Clear();
}

}  // namespace handoff::dlpack
