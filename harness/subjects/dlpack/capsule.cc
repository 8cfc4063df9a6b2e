#include "harness/subjects/dlpack/capsule.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "harness/oracle/ledger.h"
#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/finalization.h"
#include "harness/python/subinterpreter.h"
#include "harness/python/thread_state.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/capsule_operations.h"
#include "harness/subjects/dlpack/deferred.h"
#include "harness/subjects/dlpack/exchange_api.h"
#include "harness/subjects/dlpack/negotiation.h"
#include "harness/subjects/dlpack/python_array.h"
#include "harness/subjects/dlpack/python_capsule.h"
#include "harness/subjects/python_subject.h"

namespace handoff::dlpack {
namespace {

using namespace capsule;  // codes and values of operations

// Mutants inherit `finalize` from seeds, and one finalisation costs as much as hundreds of executions; so a process hears only
// one request in this many. A fresh process, as for confirming and replaying, hears the first.
constexpr int kFinalizeEvery = 256;

// A reference that threads share. Loading it and counting up must be one step, else the object may die in between; hence the
// lock. A PyMutex, since a thread that waits for one detaches and so keeps nobody from stopping the world.
struct Slot {
  PyMutex mutex{};
  PyObject* object = nullptr;  // owns a reference; guarded by `mutex`
};

// Steals `object` and returns what was there; both may be null.
PyObject* Swap(Slot& slot, PyObject* object) {
  HANDOFF_SYNC_POINT(&slot, "lock slot");
  PyMutex_Lock(&slot.mutex);
  std::swap(slot.object, object);
  PyMutex_Unlock(&slot.mutex);
  return object;
}

// A new reference, or null.
PyObject* Share(Slot& slot) {
  HANDOFF_SYNC_POINT(&slot, "lock slot");
  PyMutex_Lock(&slot.mutex);
  PyObject* object = Py_XNewRef(slot.object);
  PyMutex_Unlock(&slot.mutex);
  return object;
}

void DropObject(PyObject* object) {
  if (object == nullptr) return;
  HANDOFF_SYNC_POINT(PyCapsule_CheckExact(object) ? CapsuleToken(object) : TokenOf(object), "drop object");
  python::Release(object);
}

// Makes an exception pending. Returns it, for JudgePending.
PyObject* Raise() {
  PyObject* exception = PyObject_CallNoArgs(PyExc_ValueError);
  PyErr_SetRaisedException(Py_NewRef(exception));
  return exception;
}

// R11a: destructors leave a pending exception as they find it: not one like it, but the same. Takes over the reference and clears
// the error indicator.
void JudgePending(PyObject* raised) {
  PyObject* left = PyErr_GetRaisedException();
  if (left != raised) {
    oracle::Fail("protocol", "R11a",
                 "A pending exception was %s by a destructor or a deleter. It must leave the error indicator alone.",
                 left == nullptr ? "cleared" : "replaced");
  }
  Py_DECREF(left);
  Py_DECREF(raised);
}

// After operations that have caught every exception of their own.
void JudgeNonePending() {
  if (PyErr_Occurred() == nullptr) return;
  oracle::Fail("protocol", "R11a", "An exception is pending that no operation raised: a destructor or a deleter left it there.");
}

void DropWithException(PyObject* object) {
  PyObject* raised = Raise();
  DropObject(object);
  JudgePending(raised);
}

bool Uses(const Case& c, Code code) {
  for (const std::vector<Operation>& operations : c.threads) {
    for (const Operation& operation : operations) {
      if (operation.code == code) return true;
    }
  }
  return false;
}

// Moves a reference into a list; null is nothing.
void Leave(PyObject* list, PyObject* object) {
  if (object == nullptr) return;
  PyList_Append(list, object);
  Py_DECREF(object);
}

void Lock(std::unique_lock<std::mutex>& lock) {
  HANDOFF_SYNC_POINT(lock.mutex(), "lock native library");
  lock.lock();
}

void ExportElsewhere(Slot& slot) {
  DLManagedTensorVersioned* tensor = ExportFromSubinterpreter(NewArray(kLayouts[0], kElementTypes[0]));
  if (tensor != nullptr) DropObject(Swap(slot, NewCapsule(tensor)));
}

// Takes the tensor out of the capsule in `slot`, which stays there for others to find used. Null if there is none for us. A
// consumer that fails raises an exception, which is pending while capsule and tensor go (numpy/numpy#32697).
Array* Consume(Slot& slot, Step fails) {
  PyObject* capsule = Share(slot);
  if (capsule == nullptr) return nullptr;
  const Taken taken = TakeFromCapsule(capsule, fails);
  PyObject* raised = fails == Step::kNever ? nullptr : Raise();
  if (!Has(Defect::kCapsuleReferenceLeaked)) DropObject(capsule);
  Array* array = ImportTaken(taken, fails);
  if (raised != nullptr) JudgePending(raised);
  return array;
}

// The producer's own reference goes at once: what was exported keeps it alive (R4).
void ExportNew(Slot& slot, Kind kind, const Layout& layout, const ElementType& type) {
  PyObject* producer = NewPythonArray(NewArray(layout, type), kind);
  PyObject* capsule = CallDlpack(producer);
  DropObject(producer);
  DropObject(Swap(slot, capsule));
}

class CapsuleSubject final : public PythonSubject {
 public:
  void Initialize(const char* argv0) override;
  void Begin(const Case& c) override;
  void Apply(int thread, Operation operation) override;
  void AfterForkChild() override {
    PythonSubject::AfterForkChild();
    in_child_ = true;
  }

 private:
  void Dispatch(int thread, const Operation& operation);
  void HoldNative(int thread, Array* array) { Drop(std::exchange(native_[thread], array)); }
  void HoldObject(int thread, PyObject* object) { DropObject(std::exchange(objects_[thread], object)); }
  void Import(int thread, Slot& slot);
  void Reexport(int thread, Slot& slot, Kind kind);
  void NegotiateAs(int thread, const Question& question);
  void Read(int thread);
  void Release(int thread, State state);
  void Api(int thread, Action action, Kind kind);
  void ReleaseOnNewThread(int thread);
  void FinalizeWithTensors(bool during);
  void DropEverything() override;
  bool Outstanding() override { return ledger::Outstanding(); }
  void Clean(int round) override;
  void Judge() override { ledger::Judge(); }
  // A chain of re-exports is no longer than the operations of a case, and each round ends one link at least.
  int MaxRounds() const override { return kMaxOperations; }
  const char* LeftExceptionRule() const override { return "R11a"; }

  Slot slots_[kSlots];                   // capsules; any thread
  Slot boxes_[kBoxes];                   // Python arrays; any thread
  Array* native_[kMaxThreads] = {};      // each by its thread only; owns a reference
  PyObject* objects_[kMaxThreads] = {};  // each by its thread only; owns a reference to a Python array
  std::atomic<int> finalize_{0};         // relaxed: read when all operations have ended
  std::mutex native_lock_;               // guards nothing: what a native library's caller may hold
  bool first_ = true;                    // no execution has begun
  bool in_child_ = false;
  int until_finalization_ = 1;  // the first request of a process is always heard
};

void CapsuleSubject::Initialize(const char* argv0) {
  python::Initialize(argv0);
  python::AttachMain();
  MakePythonTypes();
  MakeQuestions();
  python::DetachMain();
}

void CapsuleSubject::Begin(const Case& c) {
  // The first execution of a process is the last chance: there are no carriers yet. A child that runs one case makes it only if
  // it is going to use it.
  if (first_ && (!in_child_ || Uses(c, kExportFromSubinterpreter))) {
    python::AttachMain();
    python::MakeSubinterpreter(MakeSubinterpreterTypes);
    python::DetachMain();
  }
  first_ = false;
  ledger::Reset(c.strategy == Strategy::kFree);
  finalize_.store(0, std::memory_order_relaxed);
}

void CapsuleSubject::Import(int thread, Slot& slot) {
  if (Array* array = Consume(slot, Step::kNever); array != nullptr) HoldObject(thread, NewPythonArray(array, Kind::kVersioned));
}

// Asks the array that the thread holds, or a new one, and keeps what it gets.
void CapsuleSubject::NegotiateAs(int thread, const Question& question) {
  if (objects_[thread] == nullptr) HoldObject(thread, NewPythonArray(NewArray(kLayouts[0], kElementTypes[0]), Kind::kVersioned));
  if (Array* array = ImportTaken(Negotiate(objects_[thread], question), Step::kNever); array != nullptr)
    HoldNative(thread, array);
}

// A native array is exported by the pure C++ design: its deleter needs no thread state at all.
void CapsuleSubject::Reexport(int thread, Slot& slot, Kind kind) {
  Array* array = native_[thread];
  if (array == nullptr || !CanDescribe(*array, kind)) return;
  Retain(array);
  PyObject* capsule = kind == Kind::kLegacy ? NewCapsule(ExportLegacy(array)) : NewCapsule(ExportVersioned(array, kind));
  DropObject(Swap(slot, capsule));
}

void CapsuleSubject::Read(int thread) {
  if (native_[thread] != nullptr) ReadAll(*native_[thread]);
  if (objects_[thread] != nullptr) ReadAll(*NativeArray(objects_[thread]));
}

// The deleter must not care whether its caller is attached, or holds a lock: a native library's, taken detached, since whoever
// waits for it attached would keep the world from stopping.
void CapsuleSubject::Release(int thread, State state) {
  if (state == kAttached) {
    HoldNative(thread, nullptr);
    return;
  }
  std::unique_lock lock(native_lock_, std::defer_lock);
  if (state == kLocked && Has(Defect::kNativeLockAttached)) Lock(lock);
  python::Detach(thread);
  if (state == kLocked && !lock.owns_lock()) Lock(lock);
  HoldNative(thread, nullptr);
  if (lock.owns_lock()) lock.unlock();
  python::Attach(thread);
}

// The C exchange API, by the object that the thread holds, or a new one.
void CapsuleSubject::Api(int thread, Action action, Kind kind) {
  if (objects_[thread] == nullptr) HoldObject(thread, NewPythonArray(NewArray(kLayouts[0], kElementTypes[0]), kind));
  PyObject* object = objects_[thread];
  if (action == kApiBorrow) {
    objects_[thread] = nullptr;
    BorrowByApi(object);
  } else if (action == kApiWrap) {
    if (native_[thread] == nullptr || kind == Kind::kLegacy) return;
    if (PyObject* wrapped = WrapByApi(object, native_[thread], kind); wrapped != nullptr) HoldObject(thread, wrapped);
  } else {
    Array* array = action == kApiImport ? ImportByApi(object) : AllocateByApi(object, action == kApiAllocateElsewhere);
    if (array != nullptr) HoldNative(thread, array);
  }
}

// A thread that never had a thread state, like a native library's own. We wait for it detached, since it may attach.
void CapsuleSubject::ReleaseOnNewThread(int thread) {
  Array* array = std::exchange(native_[thread], nullptr);
  if (array == nullptr) return;
  python::Detach(thread);
  std::thread([array] { Drop(array); }).join();
  python::Attach(thread);
}

void CapsuleSubject::Apply(int thread, Operation operation) {
  python::Attach(thread);
  DropQueued();
  Dispatch(thread, operation);
  JudgeNonePending();
  python::Detach(thread);
}

void CapsuleSubject::Dispatch(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kExport:
      ExportNew(slots_[a[0]], Kind{a[1]}, kLayouts[a[2]], kElementTypes[a[3]]);
      break;
    case kConsume:
      if (Array* array = Consume(slots_[a[0]], Step::kNever); array != nullptr) HoldNative(thread, array);
      break;
    case kImport:
      Import(thread, slots_[a[0]]);
      break;
    case kRefuse:
      Consume(slots_[a[0]], Step{a[1]});
      break;
    case kReexport:
      Reexport(thread, slots_[a[0]], Kind{a[1]});
      break;
    case kExportAgain:
      if (objects_[thread] != nullptr) DropObject(Swap(slots_[a[0]], CallDlpack(objects_[thread])));
      break;
    case kRead:
      Read(thread);
      break;
    case kDrop:
      a[1] == 0 ? DropObject(Swap(slots_[a[0]], nullptr)) : DropWithException(Swap(slots_[a[0]], nullptr));
      break;
    case kRelease:
      Release(thread, State{a[0]});
      break;
    case kReleaseOnNewThread:
      ReleaseOnNewThread(thread);
      break;
    case kForget:
      HoldObject(thread, nullptr);
      break;
    case kGive:
      DropObject(Swap(boxes_[a[0]], std::exchange(objects_[thread], nullptr)));
      break;
    case kShare:
      DropObject(Swap(boxes_[a[0]], Py_XNewRef(objects_[thread])));
      break;
    case kTake:
      HoldObject(thread, Swap(boxes_[a[0]], nullptr));
      break;
    case kNegotiate:
      NegotiateAs(thread, {a[0], a[1], a[2], a[3]});
      break;
    case kFinalize:
      finalize_.store(a[0] == kAfter ? 1 : 2, std::memory_order_relaxed);
      break;
    case kExportFromSubinterpreter:
      ExportElsewhere(slots_[a[0]]);
      break;
    case kApi:
      Api(thread, Action{a[0]}, Kind{a[1]});
      break;
    case kWrite:
      if (native_[thread] != nullptr) WriteAll(*native_[thread]);
      break;
    case kCollect:
      HANDOFF_SYNC_POINT(nullptr, "collect");
      python::Collect();
      break;
    case kImportStranger:
      CallMissingDlpack();
      break;
    default:
      break;
  }
}

// What native consumers still hold when the interpreter is gone, they release afterwards. With `during`, what Python consumers
// and capsules hold dies with the interpreter, on the way.
void CapsuleSubject::FinalizeWithTensors(bool during) {
  const auto leave = [](void* self) {
    auto& subject = *static_cast<CapsuleSubject*>(self);
    PyObject* left = PyList_New(0);
    for (Slot& slot : subject.slots_) Leave(left, Swap(slot, nullptr));
    for (PyObject*& object : subject.objects_) Leave(left, std::exchange(object, nullptr));
    PySys_SetObject("handoff_left", left);
    Py_DECREF(left);
  };
  const auto release = [](void* self) {
    for (Array*& array : static_cast<CapsuleSubject*>(self)->native_) Drop(std::exchange(array, nullptr));
  };
  python::JudgeAfterFinalization(python::FinalizeInChild(during ? leave : nullptr, release, this), "R11", "A deleter");
}

void CapsuleSubject::DropEverything() {
  if (const int when = finalize_.load(std::memory_order_relaxed); when != 0 && --until_finalization_ <= 0) {
    until_finalization_ = kFinalizeEvery;
    FinalizeWithTensors(/*during=*/when == 2);
  }
  python::AttachMain();
  for (Slot& slot : slots_) DropObject(Swap(slot, nullptr));
  for (Slot& box : boxes_) DropObject(Swap(box, nullptr));
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    HoldNative(thread, nullptr);
    HoldObject(thread, nullptr);
  }
  JudgeNonePending();
  python::DetachMain();
}

void CapsuleSubject::Clean(int /*round*/) {
  python::AttachMain();
  DropQueued();
  EndLoans();
  JudgeNonePending();
  python::DetachMain();
}

}  // namespace

const Alphabet& Capsule::Operations() { return capsule::Operations(); }
std::span<const Twin> Capsule::Twins() { return capsule::Twins(); }

std::unique_ptr<Subject> Capsule::Make(int twin) {
  Install(DefectOf(twin));
  return std::make_unique<CapsuleSubject>();
}

}  // namespace handoff::dlpack
