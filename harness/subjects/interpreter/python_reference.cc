#include "harness/subjects/interpreter/python_reference.h"

#include <memory>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/python/subinterpreter.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/python_release.h"

namespace handoff::interpreter {
namespace {

constexpr const char* kName = "handoff.object";

// Relaxed: read when nobody else runs.
std::atomic<int> alive{0};
// A stack of what was given up, by `next`; owned. Emptied by Reclaim.
std::atomic<PythonReference*> left_behind{nullptr};

// Runs attached to the object's interpreter, on whichever thread ends the object, possibly in the middle of its finalisation.
void Destroy(PyObject* capsule) {
  const std::unique_ptr<PythonPayload> payload(static_cast<PythonPayload*>(PyCapsule_GetPointer(capsule, kName)));
  python::CheckInterpreter(payload->interpreter == kSub);
  alive.fetch_sub(1, std::memory_order_relaxed);
  // A destructor must not care what its caller holds: by the queue.
  if (payload->inner != nullptr) python_release::ByQueue(ThisThread(), payload->inner);
}

// Whether the native object is this interpreter's now.
bool Claim(TaggedNative& native, int interpreter) {
  HANDOFF_SYNC_POINT(&native, "claim tag");
  int seen = -1;
  if (Has(Defect::kTagCheckedThenStored)) {
    seen = native.tag.load(std::memory_order_acquire);
    HANDOFF_SYNC_POINT(&native, "store tag");
    if (seen == -1) native.tag.store(interpreter, std::memory_order_release);
    return seen == -1 || seen == interpreter;
  }
  // The tag is written once, so no order is needed for it; acquire and release cost nothing beside the exchange.
  if (native.tag.compare_exchange_strong(seen, interpreter, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
  return seen == interpreter || Has(Defect::kTagIgnored);
}

}  // namespace

namespace python_reference {

PythonReference* Make(int interpreter, PythonReference* inner) {
  auto* payload = new PythonPayload{interpreter, inner};
  PyObject* capsule = PyCapsule_New(payload, kName, Destroy);
  if (capsule == nullptr) oracle::Fail("harness", "", "CPython could not make a capsule: memory is short.");
  alive.fetch_add(1, std::memory_order_relaxed);
  return new PythonReference{capsule, payload, interpreter, release_watch::HandleMade(interpreter, 0)};
}

PythonReference* Wrap(int interpreter, TaggedNative& native) {
  if (!Claim(native, interpreter)) return nullptr;
  HANDOFF_SYNC_POINT(&native, "lock slot");
  PyMutex_Lock(&native.lock);
  if (native.wrapper == nullptr) native.wrapper = Make(interpreter, nullptr);
  auto* reference = new PythonReference{Py_NewRef(native.wrapper->object), native.wrapper->payload, interpreter,
                                        release_watch::HandleMade(interpreter, 0)};
  PyMutex_Unlock(&native.lock);
  return reference;
}

PythonReference* Unwrap(TaggedNative& native) {
  HANDOFF_SYNC_POINT(&native, "lock slot");
  PyMutex_Lock(&native.lock);
  PythonReference* wrapper = std::exchange(native.wrapper, nullptr);
  PyMutex_Unlock(&native.lock);
  return wrapper;
}

void Drop(PythonReference* reference) {
  const std::unique_ptr<PythonReference> own(reference);
  if (Here() >= 0) python::CheckInterpreter(own->payload->interpreter == kSub);
  release_watch::Applied(own->number, 0);
  HANDOFF_SYNC_POINT(own->payload, "decref");
  python::Release(own->object);  // fails without a thread state
}

void GiveUp(PythonReference* reference, void (*count)(int handle)) {
  // Only the one reference to an object that owns another one can be given up with it.
  if (reference->payload->inner != nullptr) GiveUp(std::exchange(reference->payload->inner, nullptr), count);
  count(reference->number);
  reference->next = left_behind.load(std::memory_order_relaxed);
  // Release: for whoever empties the stack.
  while (!left_behind.compare_exchange_weak(reference->next, reference, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

PyObject* HandOver(PythonReference* reference) {
  const std::unique_ptr<PythonReference> own(reference);
  release_watch::Applied(own->number, 0);
  return own->object;
}

void Reclaim() {
  PythonReference* reference = left_behind.exchange(nullptr, std::memory_order_acquire);
  while (reference != nullptr) {
    const std::unique_ptr<PythonReference> own(std::exchange(reference, reference->next));
    Inside(0, own->payload->interpreter, [&own] { Py_DECREF(own->object); });
  }
}

int Alive() { return alive.load(std::memory_order_relaxed); }

}  // namespace python_reference

}  // namespace handoff::interpreter
