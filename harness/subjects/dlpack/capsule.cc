#include "harness/subjects/dlpack/capsule.h"

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "harness/oracle/ledger.h"
#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/finalization.h"
#include "harness/python/thread_state.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"
#include "harness/subjects/dlpack/negotiation.h"
#include "harness/subjects/dlpack/python_array.h"
#include "harness/subjects/dlpack/python_capsule.h"

namespace handoff::dlpack {
namespace {

// Few, so that threads meet.
constexpr int kSlots = 3;
constexpr int kBoxes = 2;

// Mutants inherit `finalize` from seeds, and one finalisation costs as much as hundreds of executions; so a process hears only
// one request in this many. A fresh process, as for confirming and replaying, hears the first.
constexpr int kFinalizeEvery = 256;

// Rounds of Finish: a chain of re-exports is no longer than the operations of a case, and each round ends one link at least.
constexpr int kMaxRounds = kMaxOperations;

enum Code : std::uint8_t {
  kExport,
  kConsume,
  kImport,
  kRefuse,
  kReexport,
  kExportAgain,
  kRead,
  kDrop,
  kRelease,
  kReleaseOnNewThread,
  kForget,
  kGive,
  kShare,
  kTake,
  kFinalize,
  kNegotiate
};
constexpr std::array<std::string_view, 2> kStates = {"attached", "detached"};
constexpr std::array<std::string_view, 2> kPending = {"nothing", "exception"};

constexpr Argument kSlot{"slot", kSlots};
constexpr Argument kBox{"box", kBoxes};
constexpr Argument kState{"state", kStates.size(), kStates};
constexpr Argument kPendingState{"pending", kPending.size(), kPending};
constexpr Argument kStep{"step", kStepNames.size(), kStepNames};
constexpr Argument kVersion{"max_version", kVersionNames.size(), kVersionNames};
constexpr Argument kDevice{"dl_device", kDeviceNames.size(), kDeviceNames};
constexpr Argument kCopy{"copy", kCopyNames.size(), kCopyNames};
constexpr Argument kStream{"stream", kStreamNames.size(), kStreamNames};
constexpr Argument kKind{"kind", kKindNames.size(), kKindNames};

// A new thread costs as much as a whole execution without one, and a finalisation (a forked child) as much as a hundred: hence a
// small weight, and none, for what seeds ask for.
const std::array<OperationKind, 16> kOperations = {{
    {"export",
     {kSlot, kKind, {"layout", kLayoutNames.size(), kLayoutNames}, {"type", kElementTypeNames.size(), kElementTypeNames}},
     4,
     20},
    {"consume", {kSlot}, 1, 16},
    {"import", {kSlot}, 1, 12},
    {"refuse", {kSlot, kStep}, 2, 4},
    {"reexport", {kSlot, kKind}, 2, 6},
    {"export_again", {kSlot}, 1, 6},
    {"read", {}, 0, 12},
    {"drop", {kSlot, kPendingState}, 2, 8},
    {"release", {kState}, 1, 8},
    {"release_on_new_thread", {}, 0, 1},
    {"forget", {}, 0, 8},
    {"give", {kBox}, 1, 6},
    {"share", {kBox}, 1, 6},
    {"take", {kBox}, 1, 8},
    {"finalize", {}, 0, 0},
    {"negotiate", {kVersion, kDevice, kCopy, kStream}, 4, 8},
}};
const Alphabet kAlphabet = {kOperations};

struct TwinOf {
  Twin twin;
  Defect defect;
};
constexpr std::array<TwinOf, 16> kTable = {{
    {{"drop_ignores_name", "dmlc/dlpack#51: the capsule's destructor calls the deleter whatever the name says", "double-delete"},
     Defect::kDropIgnoresName},
    {{"drop_without_delete", "kornia/kornia-rs#782: the destructor of an unconsumed capsule returns early", "missing-delete"},
     Defect::kDropWithoutDelete},
    {{"rename_after_failure_window", "pytorch/pytorch#56789: a consumer that fails before it renames leaves two owners behind",
      "double-delete"},
     Defect::kRenameAfterFailureWindow},
    {{"check_then_rename", "python/cpython#145563: two consumers check and change the name of one capsule without a lock",
      "thread"},
     Defect::kCheckThenRename},
    {{"read_after_deleter", "smallest breach of R2, after dmlc/dlpack#39: a consumer reads the struct when its deleter has run",
      "use-after-delete"},
     Defect::kReadAfterDeleter},
    {{"export_without_retain", "NVIDIA/TensorRT-LLM#18310: the exported struct does not keep its Python owner alive",
      "delete-while-held"},
     Defect::kExportWithoutRetain},
    {{"byte_offset_ignored", "pytorch/pytorch#168177: byte_offset is ignored on import", "wrong-value"},
     Defect::kByteOffsetIgnored},
    {{"deleter_without_thread_state", "apache/tvm-ffi#529: without a GIL the deleter is believed to need no thread state",
      "no-thread-state"},
     Defect::kDeleterWithoutThreadState},
    {{"deleter_attaches_after_finalization", "wjakob/nanobind 2fce88af: a late deleter attaches to an interpreter that is gone",
      "after-finalization"},
     Defect::kDeleterAttachesAfterFinalization},
    {{"destructor_clears_exception", "pytorch/pytorch#84056: the capsule's destructor clears a pending exception", "protocol"},
     Defect::kDestructorClearsException},
    {{"max_version_ignored", "cupy/cupy#9007: a consumer that passes no max_version gets the versioned struct", "protocol"},
     Defect::kMaxVersionIgnored},
    {{"wrong_error_class", "numpy/numpy#30341: an unsupported dl_device raises ValueError", "protocol"},
     Defect::kWrongErrorClass},
    {{"copy_ignored", "smallest breach of R22: copy=True returns the array's own memory", "protocol"}, Defect::kCopyIgnored},
    {{"copied_flag_missing", "smallest breach of R24: a copy is not marked as one", "protocol"}, Defect::kCopiedFlagMissing},
    {{"stream_ignored", "cupy/cupy#5970: stream 0 is accepted", "protocol"}, Defect::kStreamIgnored},
    {{"unknown_keyword_ignored", "smallest breach of R25: a keyword that is not understood is ignored", "protocol"},
     Defect::kUnknownKeywordIgnored},
}};

constexpr auto kTwins = [] {
  std::array<Twin, kTable.size()> twins;
  for (std::size_t i = 0; i < twins.size(); ++i) twins[i] = kTable[i].twin;
  return twins;
}();

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
  HANDOFF_SYNC_POINT(object, "drop object");
  python::Release(object);
}

// R11a: a destructor leaves a pending exception as it finds it.
void DropWithException(PyObject* object) {
  PyErr_SetNone(PyExc_ValueError);
  DropObject(object);
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
    oracle::Fail("protocol", "R11a",
                 "A pending exception was gone after a capsule's destructor. It must leave the error indicator alone.");
  }
  PyErr_Clear();
}

class CapsuleSubject final : public Subject {
 public:
  void Initialize(const char* argv0) override;
  void Begin(const Case& c) override;
  void Start(int thread) override { python::MakeThreadState(thread); }
  void Apply(int thread, const Operation& operation) override;
  bool NeedsFinish() override;
  void Finish(int thread) override { python::Drain(thread); }
  void End() override;
  void BeforeFork() override { python::BeforeFork(); }
  void AfterForkParent() override { python::AfterForkParent(); }
  void AfterForkChild() override { python::AfterForkChild(); }

 private:
  void Dispatch(int thread, const Operation& operation);
  void HoldNative(int thread, Array* array) { Drop(std::exchange(native_[thread], array)); }
  void HoldObject(int thread, PyObject* object) { DropObject(std::exchange(objects_[thread], object)); }
  Array* Consume(Slot& slot, Step fails);
  void Export(Slot& slot, Kind kind, const Layout& layout, const ElementType& type);
  void Import(int thread, Slot& slot);
  void Reexport(int thread, Slot& slot, Kind kind);
  void NegotiateAs(int thread, const Question& question);
  void Read(int thread);
  void ReleaseDetached(int thread);
  void ReleaseOnNewThread(int thread);
  void FinalizeWithTensors();
  void DropEverything();

  Slot slots_[kSlots];                   // capsules; any thread
  Slot boxes_[kBoxes];                   // Python arrays; any thread
  Array* native_[kMaxThreads] = {};      // each by its thread only; owns a reference
  PyObject* objects_[kMaxThreads] = {};  // each by its thread only; owns a reference to a Python array
  std::atomic<bool> finalize_{false};    // relaxed: read when all operations have ended
  int rounds_ = 0;                       // of Finish in this execution
  int until_finalization_ = 1;           // the first request of a process is always heard
};

void CapsuleSubject::Initialize(const char* argv0) {
  python::Initialize(argv0);
  python::AttachMain();
  MakePythonTypes();
  MakeQuestions();
  python::DetachMain();
}

void CapsuleSubject::Begin(const Case& /*c*/) {
  ledger::Reset();
  finalize_.store(false, std::memory_order_relaxed);
  rounds_ = 0;
}

// Takes the tensor out of the capsule in `slot`, which stays there for others to find used. Null if there is none for us.
Array* CapsuleSubject::Consume(Slot& slot, Step fails) {
  PyObject* capsule = Share(slot);
  if (capsule == nullptr) return nullptr;
  const Taken taken = TakeFromCapsule(capsule, fails);
  DropObject(capsule);
  return ImportTaken(taken, fails);
}

// The producer's own reference goes at once: what was exported keeps it alive (R4).
void CapsuleSubject::Export(Slot& slot, Kind kind, const Layout& layout, const ElementType& type) {
  PyObject* producer = NewPythonArray(NewArray(layout, type), kind);
  PyObject* capsule = CallDlpack(producer);
  DropObject(producer);
  DropObject(Swap(slot, capsule));
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
  PyObject* capsule = kind == Kind::kLegacy ? NewCapsule(ExportLegacy(array)) : NewCapsule(ExportVersioned(array, kind));
  DropObject(Swap(slot, capsule));
}

void CapsuleSubject::Read(int thread) {
  if (native_[thread] != nullptr) ReadAll(*native_[thread]);
  if (objects_[thread] != nullptr) ReadAll(*NativeArray(objects_[thread]));
}

void CapsuleSubject::ReleaseDetached(int thread) {
  python::Detach(thread);
  HoldNative(thread, nullptr);
  python::Attach(thread);
}

// A thread that never had a thread state, like a native library's own. We wait for it detached, since it may attach.
void CapsuleSubject::ReleaseOnNewThread(int thread) {
  Array* array = std::exchange(native_[thread], nullptr);
  if (array == nullptr) return;
  python::Detach(thread);
  std::thread([array] { Drop(array); }).join();
  python::Attach(thread);
}

void CapsuleSubject::Apply(int thread, const Operation& operation) {
  python::Attach(thread);
  Dispatch(thread, operation);
  python::Detach(thread);
}

void CapsuleSubject::Dispatch(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kExport:
      Export(slots_[a[0]], Kind{a[1]}, kLayouts[a[2]], kElementTypes[a[3]]);
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
      a[0] == 0 ? HoldNative(thread, nullptr) : ReleaseDetached(thread);
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
      finalize_.store(true, std::memory_order_relaxed);
      break;
    default:
      break;
  }
}

// What native consumers still hold when the interpreter is gone, they release afterwards.
void CapsuleSubject::FinalizeWithTensors() {
  const auto release = [](void* self) {
    for (Array*& array : static_cast<CapsuleSubject*>(self)->native_) Drop(std::exchange(array, nullptr));
  };
  switch (python::FinalizeInChild(release, this)) {
    case python::AfterFinalization::kClean:
      return;
    case python::AfterFinalization::kCrashed:
      oracle::Fail("after-finalization", "R11",
                   "A deleter that ran after Py_FinalizeEx crashed. A late deleter may not attach: leak the owner.");
    case python::AfterFinalization::kBlocked:
      oracle::Fail("after-finalization", "R11",
                   "A deleter that ran after Py_FinalizeEx never returned. A late deleter may not attach: leak the owner.");
  }
}

void CapsuleSubject::DropEverything() {
  python::AttachMain();
  for (Slot& slot : slots_) DropObject(Swap(slot, nullptr));
  for (Slot& box : boxes_) DropObject(Swap(box, nullptr));
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    HoldNative(thread, nullptr);
    HoldObject(thread, nullptr);
  }
  python::DetachMain();
}

// What is left after the drop belongs to carriers: CPython has queued it for them. What one of them destroys may in turn belong
// to another, so that a chain takes several rounds.
bool CapsuleSubject::NeedsFinish() {
  if (rounds_++ == 0) {
    if (finalize_.load(std::memory_order_relaxed) && --until_finalization_ <= 0) {
      until_finalization_ = kFinalizeEvery;
      FinalizeWithTensors();
    }
    DropEverything();
  }
  if (!ledger::Outstanding()) return false;
  python::AttachMain();
  EndLoans();
  python::DetachMain();
  return ledger::Outstanding() && rounds_ <= kMaxRounds;
}

void CapsuleSubject::End() {
  python::AttachMain();
  python::CheckGilIsOff();
  python::DetachMain();
  ledger::Judge();
}

}  // namespace

const Alphabet& Capsule::Operations() { return kAlphabet; }
std::span<const Twin> Capsule::Twins() { return kTwins; }

std::unique_ptr<Subject> Capsule::Make(int twin) {
  Install(twin < 0 ? Defect::kNone : kTable[static_cast<std::size_t>(twin)].defect);
  return std::make_unique<CapsuleSubject>();
}

}  // namespace handoff::dlpack
