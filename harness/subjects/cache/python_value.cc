#include "harness/subjects/cache/python_value.h"

#include <string>
#include <vector>

#include "harness/oracle/verdict.h"
#include "harness/subjects/cache/python_watch.h"

namespace handoff::cache::cpython {
namespace {

PyTypeObject* value_type = nullptr;  // owned for the life of the process
PyObject* keys[kKeys];               // owned for the life of the process

void Dealloc(PyObject* self) {
  watch::Gone(static_cast<Value*>(self)->number);
  PyObject_Free(self);
  Py_DECREF(value_type);
}

// Where a table of 16 wants the key; its two lower bits are where one of 4 does.
std::size_t BucketOf(const PyObject* object) {
  Block block(16);
  return static_cast<std::size_t>(Probe(block, KeyOf(object), &LoadPlainly, 0).bucket - block.buckets.get());
}

PyObject* NewKeyType(int number) {
  const std::string name = "handoff.Key" + std::to_string(number);
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {name.c_str(), static_cast<int>(sizeof(PyObject)), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* type = PyType_FromSpec(&spec);
  CheckMemory(type != nullptr);
  return type;
}

// Three of a bucket come together after at most 33 types. What is left over fills the other places.
void Choose(const std::vector<PyObject*>& types, std::size_t bucket) {
  int meeting = 0;
  int apart = 3;
  for (PyObject* type : types) {
    const bool meets = BucketOf(type) == bucket;
    int& next = meets ? meeting : apart;
    if (next < (meets ? 3 : kKeys)) keys[next++] = Py_NewRef(type);
  }
}

}  // namespace

void CheckMemory(bool done) {
  if (!done) oracle::Fail("harness", "", "CPython could not make an object: memory is short.");
}

void MakeValueType() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)}, {0, nullptr}};
  static PyType_Spec spec = {"handoff.Value", sizeof(Value), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  value_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  CheckMemory(value_type != nullptr);
}

void MakeKeys() {
  std::vector<PyObject*> types;
  int wanting[16] = {};
  std::size_t bucket = 0;
  do {
    types.push_back(NewKeyType(static_cast<int>(types.size())));
    bucket = BucketOf(types.back());
    ++wanting[bucket];
  } while (wanting[bucket] < 3 || static_cast<int>(types.size()) - wanting[bucket] < kKeys - 3);
  Choose(types, bucket);
  for (PyObject* type : types) Py_DECREF(type);
}

PyObject* KeyObject(int key) { return keys[key]; }
Key KeyOf(const PyObject* object) { return {{reinterpret_cast<std::uintptr_t>(object)}}; }

int KeyOfObject(const PyObject* object) {
  int key = 0;
  while (keys[key] != object) ++key;
  return key;
}

Value* NewValue(int key) {
  Value* value = PyObject_New(Value, value_type);
  CheckMemory(value != nullptr);
  static_cast<Implementation&>(*value) = {watch::Made(watch::Kind::kValue), key, nullptr};
  return value;
}

int Look(const Implementation* found, int key) {
  if (found == nullptr) return 0;
  const int number = found->number;
  watch::Used(number);
  if (found->key == key) return number;
  oracle::Fail(
      "wrong-value", "invariant 2",
      "Key %d was answered with value %d, which was made for key %d. Expected none, or one that was offered for this key.", key,
      number, found->key);
}

}  // namespace handoff::cache::cpython
