#include "harness/subjects/dlpack/negotiation.h"

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/python_array.h"
#include "harness/subjects/dlpack/python_capsule.h"

namespace handoff::dlpack {
namespace {

// --- The producer's side ---

bool Refuse(PyObject* type, const char* text) {
  PyErr_SetString(type, text);
  return false;
}

// Two integers, as versions and devices are.
bool ParsePair(PyObject* value, long& first, long& second, const char* text) {
  if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) return Refuse(PyExc_TypeError, text);
  if (!PyLong_Check(PyTuple_GET_ITEM(value, 0)) || !PyLong_Check(PyTuple_GET_ITEM(value, 1)))
    return Refuse(PyExc_TypeError, text);
  first = PyLong_AsLong(PyTuple_GET_ITEM(value, 0));
  second = PyLong_AsLong(PyTuple_GET_ITEM(value, 1));
  return PyErr_Occurred() == nullptr;
}

// R15: without a version, or for one from before there were any, the legacy struct; else our own version, if it is not newer in
// major.
bool ParseVersion(PyObject* value, Request& request) {
  request.versioned = Has(Defect::kMaxVersionIgnored);
  if (value == Py_None) return true;
  long major = 0;
  long minor = 0;
  if (!ParsePair(value, major, minor, "max_version must be None or a pair of integers")) return false;
  request.versioned = request.versioned || major >= DLPACK_MAJOR_VERSION;
  return true;
}

// R23: we have CPU number 0 and nothing else.
bool ParseDevice(PyObject* value) {
  if (value == Py_None) return true;
  long type = 0;
  long number = 0;
  if (!ParsePair(value, type, number, "dl_device must be None or a pair of integers")) return false;
  if (type == kDLCPU && number == 0) return true;
  return Refuse(Has(Defect::kWrongErrorClass) ? PyExc_ValueError : PyExc_BufferError, "the array is on a CPU and stays there");
}

bool ParseCopy(PyObject* value, Request& request) {
  if (value != Py_None && !PyBool_Check(value)) return Refuse(PyExc_TypeError, "copy must be None, True or False");
  if (value == Py_False && Has(Defect::kCopyFalseRefused)) return Refuse(PyExc_BufferError, "the array may not be copied");
  request.own_memory = value == Py_False;
  request.copy = value == Py_True && !Has(Defect::kCopyIgnored);
  return true;
}

bool ParseOne(PyObject* name, PyObject* value, Request& request) {
  if (PyUnicode_EqualToUTF8(name, "max_version") != 0) return ParseVersion(value, request);
  if (PyUnicode_EqualToUTF8(name, "dl_device") != 0) return ParseDevice(value);
  if (PyUnicode_EqualToUTF8(name, "copy") != 0) return ParseCopy(value, request);
  if (PyUnicode_EqualToUTF8(name, "stream") != 0) {
    if (value == Py_None || Has(Defect::kStreamIgnored)) return true;
    return Refuse(PyExc_ValueError, "stream must be None: a CPU has no streams");  // R26
  }
  if (Has(Defect::kUnknownKeywordIgnored)) return true;
  return Refuse(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument");  // R25
}

// --- The consumer's side ---

// Argument values, by their index in the tables of names; null for "absent". Owned for the life of the process, never changed.
PyObject* versions[kVersionNames.size()];
PyObject* devices[kDeviceNames.size()];
PyObject* copies[kCopyNames.size()];
PyObject* streams[kStreamNames.size()];
PyObject* dlpack_name = nullptr;
PyObject* device_name = nullptr;
constexpr std::size_t kCpu = 2;  // index into `devices`
enum Keyword { kMaxVersion, kDlDevice, kCopy, kStream, kUnknown, kKeywords };
PyObject* keywords[kKeywords];

PyObject* Ask(PyObject* object, const Question& q) {
  const bool unknown = kStreamNames[static_cast<std::size_t>(q.stream)] == "unknown_keyword";
  PyObject* const values[] = {versions[q.version], devices[q.device], copies[q.copy], streams[q.stream]};
  PyObject* arguments[5] = {object};
  PyObject* names[4];
  int count = 0;
  for (int k = 0; k < 4; ++k) {
    if (values[k] == nullptr) continue;
    names[count] = keywords[k == kStream && unknown ? kUnknown : k];
    arguments[++count] = values[k];
  }
  PyObject* tuple = PyTuple_New(count);
  for (int k = 0; k < count; ++k) PyTuple_SET_ITEM(tuple, k, Py_NewRef(names[k]));
  HANDOFF_SYNC_POINT(TokenOf(object), "call __dlpack__");
  PyObject* capsule = PyObject_VectorcallMethod(dlpack_name, arguments, 1, tuple);
  Py_DECREF(tuple);
  return capsule;
}

// --- The judge ---

// The reasons why a producer of CPU arrays must refuse, each with the class of the exception (null: any).
struct Reasons {
  int count = 0;
  const char* rules[8];
  PyObject* types[8];

  void Add(bool applies, const char* rule, PyObject* type) {
    if (!applies) return;
    rules[count] = rule;
    types[count++] = type;
  }
};

bool WantsLegacy(const Question& q) { return q.version < 3; }  // absent, none, legacy
bool HasKeywords(const Question& q) { return q.version + q.device + q.copy + q.stream != 0; }

Reasons ReasonsToRefuse(const Array& array, const Question& q, bool knows_keywords) {
  const std::string_view version = kVersionNames[static_cast<std::size_t>(q.version)];
  const std::string_view device = kDeviceNames[static_cast<std::size_t>(q.device)];
  const std::string_view stream = kStreamNames[static_cast<std::size_t>(q.stream)];
  Reasons reasons;
  reasons.Add(stream == "unknown_keyword" || (!knows_keywords && HasKeywords(q)), "R25", PyExc_TypeError);
  reasons.Add(version == "malformed", "R28", PyExc_TypeError);
  reasons.Add(device == "malformed", "R28", PyExc_TypeError);
  reasons.Add(device == "cpu_1" || device == "other", "R23", PyExc_BufferError);
  reasons.Add(stream != "absent" && stream != "none" && stream != "unknown_keyword", "R26", nullptr);
  reasons.Add(WantsLegacy(q) && kCopyNames[static_cast<std::size_t>(q.copy)] == "true", "R24", PyExc_BufferError);
  reasons.Add(WantsLegacy(q) && !CanDescribe(array, Kind::kLegacy), "R32", PyExc_BufferError);
  return reasons;
}

void JudgeRefusal(const Reasons& reasons) {
  if (reasons.count == 0) {
    oracle::Fail("protocol", "R28", "__dlpack__ raised an exception although it could have exported what was asked for.");
  }
  for (int i = 0; i < reasons.count; ++i) {
    if (reasons.types[i] == nullptr || PyErr_ExceptionMatches(reasons.types[i]) != 0) return;
  }
  oracle::Fail("protocol", reasons.rules[0], "__dlpack__ raised an exception of the wrong class, expected %s.",
               reinterpret_cast<PyTypeObject*>(reasons.types[0])->tp_name);
}

// What was taken is ours, so we may look at it.
void JudgeAnswer(const Array& array, const Question& q, const Taken& taken) {
  const bool legacy = taken.name == kLegacyName;
  if (legacy != WantsLegacy(q)) {
    oracle::Fail("protocol", "R15",
                 "__dlpack__ returned the %s struct to a consumer that asked for the other one by max_version.",
                 legacy ? "legacy" : "versioned");
  }
  if (legacy) return;
  const auto* tensor = static_cast<const DLManagedTensorVersioned*>(taken.tensor);
  if (tensor->version.major != DLPACK_MAJOR_VERSION) return;   // nothing else may be touched (R12)
  if (tensor->dl_tensor.device.device_type != kDLCPU) return;  // `data` is no address
  const std::string_view copy = kCopyNames[static_cast<std::size_t>(q.copy)];
  const bool same = tensor->dl_tensor.data == array.view.data;
  if (array.view.data != nullptr && copy == "true" && same) {
    oracle::Fail("protocol", "R22", "__dlpack__(copy=True) returned the array's own memory.");
  }
  if (copy == "false" && !same) oracle::Fail("protocol", "R22", "__dlpack__(copy=False) returned other memory than the array's.");
  if (copy == "true" && (tensor->flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0) {
    oracle::Fail("protocol", "R24", "__dlpack__(copy=True) made a copy and did not set the flag IS_COPIED.");
  }
}

// What every consumer may ask first: where the array is.
void JudgeDevice(PyObject* object) {
  PyObject* device = PyObject_CallMethodNoArgs(object, device_name);
  const bool right = device != nullptr && PyObject_RichCompareBool(device, devices[kCpu], Py_EQ) == 1;
  if (!right) oracle::Fail("protocol", "R23", "__dlpack_device__ must say that the array is on CPU number 0.");
  Py_DECREF(device);
}

}  // namespace

bool ParseRequest(PyObject* const* arguments, Py_ssize_t positional, PyObject* names, Request& request) {
  if (positional != 0) return Refuse(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
  request.versioned = Has(Defect::kMaxVersionIgnored);
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!ParseOne(PyTuple_GET_ITEM(names, i), arguments[i], request)) return false;
  }
  // R24: a copy must be marked as one, which a legacy struct cannot.
  if (request.copy && !request.versioned) return Refuse(PyExc_BufferError, "a legacy struct cannot say that it is a copy");
  return true;
}

void MakeQuestions() {
  PyObject* const made_versions[] = {nullptr,
                                     Py_None,
                                     Py_BuildValue("(ii)", 0, 8),
                                     Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION),
                                     Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION + 1, 0),
                                     Py_BuildValue("(ss)", "a", "b")};
  PyObject* const made_devices[] = {nullptr,
                                    Py_None,
                                    Py_BuildValue("(ii)", int{kDLCPU}, 0),
                                    Py_BuildValue("(ii)", int{kDLCPU}, 1),
                                    Py_BuildValue("(ii)", int{kDLExtDev}, 0),
                                    Py_BuildValue("(i)", int{kDLCPU})};
  PyObject* const made_copies[] = {nullptr, Py_None, Py_True, Py_False};
  PyObject* const made_streams[] = {
      nullptr, Py_None, PyLong_FromLong(0), Py_None, PyLong_FromLong(1), PyLong_FromLong(-1), PyLong_FromLong(1L << 40)};
  for (std::size_t i = 0; i < kVersionNames.size(); ++i) versions[i] = made_versions[i];
  for (std::size_t i = 0; i < kDeviceNames.size(); ++i) devices[i] = made_devices[i];
  for (std::size_t i = 0; i < kCopyNames.size(); ++i) copies[i] = made_copies[i];
  for (std::size_t i = 0; i < kStreamNames.size(); ++i) streams[i] = made_streams[i];
  const char* const names[] = {"max_version", "dl_device", "copy", "stream", "colour"};
  for (int i = 0; i < kKeywords; ++i) keywords[i] = PyUnicode_InternFromString(names[i]);
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  device_name = PyUnicode_InternFromString("__dlpack_device__");
  if (PyErr_Occurred() != nullptr) oracle::Fail("harness", "", "CPython could not make a few tuples: memory is short.");
}

Taken Negotiate(PyObject* object, const Question& question) {
  JudgeDevice(object);
  const Array& array = *NativeArray(object);
  const Reasons reasons = ReasonsToRefuse(array, question, KnowsKeywords(object));
  PyObject* capsule = Ask(object, question);
  if (capsule == nullptr) {
    JudgeRefusal(reasons);
    PyErr_Clear();
    return {};
  }
  if (reasons.count > 0)
    oracle::Fail("protocol", reasons.rules[0], "__dlpack__ exported although it had to refuse what was asked for.");
  const Taken taken = TakeFromCapsule(capsule, Step::kNever);
  // A capsule that its producer keeps may have been consumed before, and is refused then (R9).
  if (taken.tensor != nullptr) JudgeAnswer(array, question, taken);
  python::Release(capsule);
  return taken;
}

}  // namespace handoff::dlpack
