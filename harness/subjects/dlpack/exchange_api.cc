#include "harness/subjects/dlpack/exchange_api.h"

#include "harness/subjects/dlpack/python_array.h"

#if DLPACK_MAJOR_VERSION > 1 || DLPACK_MINOR_VERSION >= 2

#include <cstring>

#include "harness/oracle/ledger.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/meaning.h"

namespace handoff::dlpack {
namespace {

constexpr char kAttribute[] = "__dlpack_c_exchange_api__";
constexpr char kCapsuleName[] = "dlpack_exchange_api";

int Fail(PyObject* type, const char* text) {
  if (!Has(Defect::kApiErrorWithoutException)) PyErr_SetString(type, text);
  return -1;
}

// --- The producer's side: no exceptions of C++, 0 or -1 with one of Python (R37) ---

int FromPyObject(void* object, DLManagedTensorVersioned** out) noexcept {
  *out = ExportVersionedFromPython(static_cast<PyObject*>(object));
  return 0;
}

// Takes `tensor` over, also when it fails (R39; the header does not say so, but nobody else could know whether it is still
// there).
int ToPyObject(DLManagedTensorVersioned* tensor, void** out) noexcept {
  Array* array = Import(tensor, ledger::Consumed(tensor), Step::kNever);
  if (array == nullptr) return Fail(PyExc_BufferError, "the tensor is not one for this library");
  *out = NewPythonArray(array, Kind::kVersioned);
  return 0;
}

// Shape and strides are the array's own, so nothing is allocated. A DLTensor has no flags, so a padded array cannot be described.
int DLTensorFromPyObject(void* object, DLTensor* out) noexcept {
  const Array& array = *NativeArray(static_cast<PyObject*>(object));
  if (array.padded) return Fail(PyExc_BufferError, "a DLTensor cannot say that its elements are padded");
  *out = array.view;
  return 0;
}

// Of `prototype` only device, type, rank and shape count. An error goes to `set_error`, since the caller may hold no thread state
// (R40).
int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
             void (*set_error)(void* context, const char* kind, const char* message)) noexcept {
  if (prototype->device.device_type != kDLCPU) {
    if (!Has(Defect::kAllocatorForgetsError)) set_error(context, "BufferError", "this library allocates on a CPU only");
    return -1;
  }
  *out = ExportVersioned(NewArray(kLayouts[0], kElementTypes[0]), Kind::kVersioned);
  return 0;
}

int CurrentWorkStream(DLDeviceType type, std::int32_t /*number*/, void** out) noexcept {
  if (type != kDLCPU) return Fail(PyExc_BufferError, "this library knows no streams of that device");
  *out = nullptr;
  return 0;
}

// Both live as long as the process (R33) and never change. The newer one stands for a version whose functions we cannot know.
const DLPackExchangeAPI kApi = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr},
                                Allocate,
                                FromPyObject,
                                ToPyObject,
                                DLTensorFromPyObject,
                                CurrentWorkStream};
const DLPackExchangeAPI kNewerApi = {{{DLPACK_MAJOR_VERSION + 1, 0}, const_cast<DLPackExchangeAPIHeader*>(&kApi.header)},
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};

// What stands in a type for the capsule: gives it to those who ask the type and catches those who ask an object of it (R36).
// CPython calls it with no `object` for a look-up on the type.
struct ApiAttribute {
  PyObject_HEAD PyObject* capsule;  // owns a reference
};

PyObject* GetApi(PyObject* self, PyObject* object, PyObject* /*type*/) {
  if (object != nullptr) {
    oracle::Fail("protocol", "R36",
                 "%s was looked up on an object. An object may have such an attribute of its own: ask its type.", kAttribute);
  }
  return Py_NewRef(reinterpret_cast<ApiAttribute*>(self)->capsule);
}

PyType_Slot attribute_slots[] = {
    {Py_tp_descr_get, reinterpret_cast<void*>(GetApi)},
    {0, nullptr},
};
PyType_Spec attribute_spec = {"handoff.ExchangeApi", sizeof(ApiAttribute), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, attribute_slots};

// Takes over the reference. Null if there is no memory. Lives as long as the type that has it, which is for ever.
PyObject* NewApiAttribute(PyObject* capsule) {
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&attribute_spec));
  PyObject* attribute = type == nullptr || capsule == nullptr ? nullptr : type->tp_alloc(type, 0);
  if (attribute != nullptr) reinterpret_cast<ApiAttribute*>(attribute)->capsule = capsule;
  return attribute;
}

// --- The consumer's side ---

// Looked up on the type, not on the object (R36). Walks back to a major version that we know (R35).
const DLPackExchangeAPI* FindApi(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  HANDOFF_SYNC_POINT(type, "look up exchange API");
  PyObject* capsule =
      PyObject_GetAttrString(Has(Defect::kApiLookedUpOnObject) ? object : reinterpret_cast<PyObject*>(type), kAttribute);
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* header = static_cast<const DLPackExchangeAPIHeader*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  Py_DECREF(capsule);
  if (header == nullptr) oracle::Fail("protocol", "R33", "%s is not a capsule named %s.", kAttribute, kCapsuleName);
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION && !Has(Defect::kApiMajorIgnored)) {
    header = header->prev_api;
  }
  if (header == nullptr) return nullptr;
  if (header->version.major != DLPACK_MAJOR_VERSION) {
    oracle::Fail("protocol", "R35", "A consumer is about to call an exchange API of major version %u, and knows %d.",
                 header->version.major, DLPACK_MAJOR_VERSION);
  }
  const auto* api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  if (api->managed_tensor_allocator == nullptr || api->managed_tensor_from_py_object_no_sync == nullptr ||
      api->managed_tensor_to_py_object_no_sync == nullptr || api->current_work_stream == nullptr) {
    oracle::Fail("protocol", "R34", "An exchange API lacks a function that must be there.");
  }
  return api;
}

// Whether the call succeeded; it must have set an exception if and only if it did not.
bool Succeeded(int result, const char* function) {
  const bool raised = PyErr_Occurred() != nullptr;
  if (result != (raised ? -1 : 0)) {
    oracle::Fail("protocol", "R37", "%s returned %d %s an exception set.", function, result, raised ? "with" : "without");
  }
  PyErr_Clear();
  return result == 0;
}

// How often SetError was called for one allocation, and by whom it must be: see R40.
void CountError(void* context, const char* /*kind*/, const char* /*message*/) { ++*static_cast<int*>(context); }

}  // namespace

void PublishExchangeApi(PyTypeObject* type, bool newer) {
  static DLPackExchangeAPI lacking = kApi;
  lacking.managed_tensor_allocator = nullptr;
  const DLPackExchangeAPI* right = newer ? &kNewerApi : &kApi;
  auto* api = const_cast<DLPackExchangeAPI*>(Has(Defect::kApiLacksFunction) ? &lacking : right);
  PyObject* attribute =
      NewApiAttribute(PyCapsule_New(api, Has(Defect::kApiInWrongCapsule) ? "exchange_api" : kCapsuleName, nullptr));
  PyObject* dictionary = PyType_GetDict(type);
  if (attribute == nullptr || PyDict_SetItemString(dictionary, kAttribute, attribute) != 0) {
    oracle::Fail("harness", "", "CPython could not add the exchange API to its type: memory is short.");
  }
  Py_DECREF(dictionary);
  Py_DECREF(attribute);
  PyType_Modified(type);
}

Array* ImportByApi(PyObject* object) {
  const DLPackExchangeAPI* api = FindApi(object);
  DLManagedTensorVersioned* tensor = nullptr;
  if (api == nullptr) return nullptr;
  HANDOFF_SYNC_POINT(TokenOf(object), "export by API");
  if (!Succeeded(api->managed_tensor_from_py_object_no_sync(object, &tensor), "managed_tensor_from_py_object_no_sync"))
    return nullptr;
  return Import(tensor, ledger::Consumed(tensor), Step::kNever);
}

PyObject* WrapByApi(PyObject* like, Array* array, Kind kind) {
  const DLPackExchangeAPI* api = FindApi(like);
  if (api == nullptr) return nullptr;
  DLManagedTensorVersioned* tensor = ExportVersioned(Retain(array), kind);
  const int number = ledger::NumberOf(tensor);
  ledger::Travels(number, ledger::Way::kApi);
  void* object = nullptr;
  HANDOFF_SYNC_POINT(ledger::TensorToken(number), "import by API");
  if (!Succeeded(api->managed_tensor_to_py_object_no_sync(tensor, &object), "managed_tensor_to_py_object_no_sync"))
    return nullptr;
  if (Has(Defect::kApiKeepsStolenTensor)) {
    ledger::Released(number, ledger::Owner::kGiver);
    CallDeleter(tensor);
  }
  return static_cast<PyObject*>(object);
}

void BorrowByApi(PyObject* object) {
  const DLPackExchangeAPI* api = FindApi(object);
  if (api != nullptr && api->dltensor_from_py_object_no_sync != nullptr) {
    Array view;
    const ledger::View& meaning = Meaning(*NativeArray(object));
    HANDOFF_SYNC_POINT(TokenOf(object), "borrow by API");
    if (Succeeded(api->dltensor_from_py_object_no_sync(object, &view.view), "dltensor_from_py_object_no_sync")) {
      if (Has(Defect::kApiViewOutlivesObject)) Py_CLEAR(object);
      ledger::BorrowedUse(meaning);
      ReadBorrowed(view, meaning);
    }
  }
  Py_XDECREF(object);
}

Array* AllocateByApi(PyObject* like, bool elsewhere) {
  const DLPackExchangeAPI* api = FindApi(like);
  if (api == nullptr) return nullptr;
  Description description = Describe(kLayouts[0], kElementTypes[0], nullptr);
  DLTensor& prototype = description.view;
  prototype.shape = description.shape;
  prototype.strides = description.strides;
  if (elsewhere) prototype.device.device_type = kDLExtDev;
  void* stream = nullptr;
  if (!Succeeded(api->current_work_stream(prototype.device.device_type, 0, &stream), "current_work_stream") && !elsewhere) {
    oracle::Fail("protocol", "R37", "current_work_stream failed for the CPU, which needs no stream.");
  }
  DLManagedTensorVersioned* tensor = nullptr;
  int errors = 0;
  HANDOFF_SYNC_POINT(nullptr, "allocate by API");
  const int result = api->managed_tensor_allocator(&prototype, &tensor, &errors, CountError);
  if (errors != (result == 0 ? 0 : 1)) {
    oracle::Fail("protocol", "R40",
                 "The allocator returned %d and called SetError %d times. It calls it once, and only if it fails.", result,
                 errors);
  }
  return result == 0 ? Import(tensor, ledger::Consumed(tensor), Step::kNever) : nullptr;
}

}  // namespace handoff::dlpack

#else  // before DLPack 1.2

namespace handoff::dlpack {

void PublishExchangeApi(PyTypeObject* /*type*/, bool /*newer*/) {}
Array* ImportByApi(PyObject* /*object*/) { return nullptr; }
PyObject* WrapByApi(PyObject* /*like*/, Array* /*array*/, Kind /*kind*/) { return nullptr; }
void BorrowByApi(PyObject* object) { Py_DECREF(object); }
Array* AllocateByApi(PyObject* /*like*/, bool /*elsewhere*/) { return nullptr; }

}  // namespace handoff::dlpack

#endif
