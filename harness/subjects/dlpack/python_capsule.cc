#include "harness/subjects/dlpack/python_capsule.h"

#include "harness/oracle/ledger.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"

namespace handoff::dlpack {
namespace {

// Null unless nobody has taken the tensor yet.
const char* FreshName(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName) != 0) return kVersionedName;
  if (PyCapsule_IsValid(capsule, kLegacyName) != 0) return kLegacyName;
  return nullptr;
}

// R6: whoever made a capsule with a tensor gave it a name of the specification, fresh or, by now, used.
void CheckName(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kUsedVersionedName) != 0 || PyCapsule_IsValid(capsule, kUsedLegacyName) != 0) return;
  oracle::Fail("protocol", "R6", "A consumer finds a capsule whose name is none that the specification has for tensors.");
}

// The last reference is gone, so nobody else looks at the capsule now, and no lock is needed. It may run while an exception is
// pending (R11a), so it calls nothing that sets or clears one.
void DestroyCapsule(PyObject* capsule) {
  HANDOFF_SYNC_POINT(CapsuleToken(capsule), "destroy capsule");
  ledger::ObjectGone();
  if (Has(Defect::kDestructorClearsException)) PyErr_Clear();
  if (Has(Defect::kDestructorLeavesException)) PyErr_SetNone(PyExc_ValueError);
  const char* name = FreshName(capsule);
  if (Has(Defect::kDropIgnoresName) && name == nullptr) name = PyCapsule_GetName(capsule);
  if (name == nullptr || Has(Defect::kDropWithoutDelete)) return;
  DeleteUntaken(name, PyCapsule_GetPointer(capsule, name));
}

Taken TakeUnlocked(PyObject* capsule, Step fails) {
  HANDOFF_SYNC_POINT(CapsuleToken(capsule), "check name");
  const char* name = FreshName(capsule);
  if (name == nullptr) {
    CheckName(capsule);
    return {};  // R9
  }
  HANDOFF_SYNC_POINT(CapsuleToken(capsule), "get pointer");
  void* tensor = PyCapsule_GetPointer(capsule, name);
  if (tensor == nullptr) {  // renamed in between, by another thread: without the lock only
    PyErr_Clear();
    return {};
  }
  ledger::Consumed(tensor);
  HANDOFF_SYNC_POINT(CapsuleToken(capsule), "rename");
  // Renamed before anything that can fail, so that there is no moment in which both sides own the tensor.
  if (fails != Step::kClaimed || !Has(Defect::kRenameAfterFailureWindow)) PyCapsule_SetName(capsule, UsedName(name));
  return {name, tensor};
}

// The context holds what stands for the capsule at points: written before anybody else can see it, and never again.
PyObject* NewNamed(void* tensor, const char* name) {
  const int number = ledger::NumberOf(tensor);
  ledger::Travels(number, ledger::Way::kHandle);
  const void* token = ledger::TensorToken(number);
  HANDOFF_SYNC_POINT(token, "make capsule");
  PyObject* capsule = PyCapsule_New(tensor, Has(Defect::kCapsuleMisnamed) ? "dltensor_v1" : name, DestroyCapsule);
  PyCapsule_SetContext(capsule, const_cast<void*>(token));
  ledger::ObjectMade();
  return capsule;
}

}  // namespace

PyObject* NewCapsule(DLManagedTensor* tensor) { return NewNamed(tensor, kLegacyName); }
PyObject* NewCapsule(DLManagedTensorVersioned* tensor) { return NewNamed(tensor, kVersionedName); }

const void* CapsuleToken(PyObject* capsule) { return PyCapsule_GetContext(capsule); }

Taken TakeFromCapsule(PyObject* capsule, Step fails) {
  if (Has(Defect::kCheckThenRename)) return TakeUnlocked(capsule, fails);
  // A capsule's fields are plain memory: whoever shares one must bring the lock (python/cpython#146612). The object's own
  // critical section is the one that all consumers can agree on without knowing each other. It would be given up if the thread
  // detached in between, but nothing in it blocks or runs Python code, so that check and rename are one step.
  Taken taken;
  HANDOFF_SYNC_POINT(CapsuleToken(capsule), "lock capsule");
  Py_BEGIN_CRITICAL_SECTION(capsule);
  taken = TakeUnlocked(capsule, fails);
  Py_END_CRITICAL_SECTION();
  return taken;
}

}  // namespace handoff::dlpack
