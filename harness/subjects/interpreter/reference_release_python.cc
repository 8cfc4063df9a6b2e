#include "harness/subjects/interpreter/reference_release_python.h"

#include <array>
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/python/finalization.h"
#include "harness/python/subinterpreter.h"
#include "harness/python/thread_state.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/lock.h"
#include "harness/subjects/interpreter/python_release.h"
#include "harness/subjects/interpreter/release_watch.h"
#include "harness/subjects/interpreter/work.h"
#include "harness/subjects/late_operations.h"
#include "harness/subjects/python_subject.h"
#include "harness/subjects/twins.h"

namespace handoff::interpreter {
namespace {

enum Code : std::uint8_t {
  kMake,
  kWrap,
  kUnwrap,
  kRelease,
  kGive,
  kTake,
  kEnter,
  kJoin,
  kFill,
  kClose,
  kFinalize,
};
enum Way : std::uint8_t { kExitBlock, kQueue, kPendingCall, kLeak, kWays };
enum ThreadIs : std::uint8_t { kDetached, kAttached, kAttachedElsewhere, kLocked, kNewThread, kThreadStates };
enum Which : std::uint8_t { kAll, kAllWithReferences, kSubinterpreter, kEnds };

constexpr std::array<std::string_view, kInterpreters> kInterpreterNames = {"main", "sub"};
constexpr std::array<std::string_view, 2> kOwnsNames = {"alone", "nested"};
constexpr std::array<std::string_view, kWays> kWayNames = {"exit_block", "queue", "pending_call", "leak"};
constexpr std::array<std::string_view, kThreadStates> kStateNames = {"detached", "attached", "attached_elsewhere", "locked",
                                                                     "new_thread"};
constexpr std::array<std::string_view, kEnds> kWhichNames = {"all", "all_with_references", "subinterpreter"};
constexpr Argument kInterpreter{"interpreter", kInterpreterNames.size(), kInterpreterNames};
constexpr Argument kOwns{"owns", kOwnsNames.size(), kOwnsNames};
constexpr Argument kWay{"way", kWays, kWayNames};
constexpr Argument kThread{"thread", kThreadStates, kStateNames};
constexpr Argument kOther{"other", kMaxThreads};
constexpr Argument kWhich{"which", kEnds, kWhichNames};

const std::array<OperationKind, 11> kOperations = {{
    {"make", {kInterpreter, kOwns}, 2, 5},
    {"wrap", {kInterpreter}, 1, 4},
    {"unwrap", {kWay}, 1, 1},
    {"release", {kWay, kThread}, 2, 7},
    {"give", {}, 0, 2},
    {"take", {}, 0, 2},
    {"enter", {kInterpreter}, 1, 2},
    {"join", {kOther}, 1, 1},
    {"fill", {}, 0, 1},
    {"close", {kInterpreter}, 1, 2},
    {"finalize", {kWhich}, 1, 0},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 18> kTwinTable = {{
    {{"ensure_unchecked", "S1, python/cpython#124619: a thread attaches to an interpreter that has ended", "after-finalization"},
     Defect::kEnsureUnchecked},
    {{"check_then_ensure", "S2, pytorch/pytorch#190489: the test says yes when the exit no longer waits for anybody", "protocol"},
     Defect::kCheckThenEnsure},
    {{"check_twice", "S3, pytorch/pytorch#189128: so do both tests of a pair", "protocol"}, Defect::kCheckTwice},
    {{"flag_without_block",
      "S4, after finos/opengris-scaler#945: a flag of one's own, and nobody waits for those who have passed it", "protocol"},
     Defect::kFlagWithoutBlock},
    {{"abort_off_thread", "S9, PyO3's pyo3_disable_reference_pool: a release without the interpreter ends the process", "signal"},
     Defect::kAbortOffThread},
    {{"gate_under_gil", "grpc/grpc#37762: the gate is held while attaching, and waited for while attached", "lock-order"},
     Defect::kGateUnderGil},
    {{"queue_not_closed", "smallest breach of S6: references are queued after the last drain", "missing-delete"},
     Defect::kQueueNotClosed},
    {{"drain_under_lock", "smallest breach of S6's rule: the queue's lock is held while references are dropped", "lock-order"},
     Defect::kDrainUnderLock},
    {{"drain_by_anybody", "smallest breach of S6, after pybind/pybind11#5965: whoever enters any interpreter drains every queue",
      "wrong-interpreter"},
     Defect::kDrainByAnybody},
    {{"pending_dropped", "S7, NVIDIA/cuda-python#2371: a refused pending call is forgotten", "missing-delete"},
     Defect::kPendingDropped},
    {{"release_under_lock", "S11 left out, facebookresearch/moolib#6: a reference is dropped under a native lock", "lock-order"},
     Defect::kReleaseUnderLock},
    {{"join_attached", "S12 left out, pybind/pybind11#1446: a destructor joins a thread that wants to attach", "lock-order"},
     Defect::kJoinAttached},
    {{"released_twice", "smallest breach of the release's one end: a dropped reference is counted as a leak too",
      "double-delete"},
     Defect::kReleasedTwice},
    {{"release_detached", "apache/tvm-ffi#529: no GIL, so no thread state, so a drop without one", "no-thread-state"},
     Defect::kReleaseDetached},
    {{"release_in_wrong_interpreter", "pybind/pybind11#5965: PyGILState_Ensure for an object of a subinterpreter",
      "wrong-interpreter"},
     Defect::kReleaseInWrongInterpreter},
    {{"tag_ignored", "pytorch/pytorch#58238: an interpreter is handed another one's wrapper", "wrong-interpreter"},
     Defect::kTagIgnored},
    {{"tag_checked_then_stored", "pytorch/pytorch#57756: two interpreters find no tag and both store theirs",
      "wrong-interpreter"},
     Defect::kTagCheckedThenStored},
    {{"leaks_while_alive",
      "smallest breach of S5: a gate that is open is taken for a closed one, and every release is counted as a leak",
      "missing-delete"},
     Defect::kLeaksWhileAlive},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// Whether the way may be gone with a native lock in the hand: it never attaches.
bool NeverAttaches(int way) { return way != kExitBlock; }

class ReleaseSubject final : public PythonSubject {
 public:
  void Initialize(const char* argv0) override;
  void Begin(const Case& c) override;
  void Start(int thread) override {
    PythonSubject::Start(thread);
    UseOwnState(thread);
    python::UseSubinterpreterState();
  }
  void Apply(int thread, Operation operation) override;
  void Finish(int thread) override;
  void AfterForkChild() override {
    PythonSubject::AfterForkChild();
    in_child_ = true;
  }

 private:
  void Dispatch(int thread, const Operation& operation);
  void Take(int thread, PythonReference* reference);
  void ReleaseIn(int thread, PythonReference* reference, int way, int state);
  void Join(int thread, int other);
  void RunLate();
  void DropEverything() override;
  bool Outstanding() override { return python_reference::Alive() > 0; }
  void Clean(int round) override;
  void Judge() override;
  ThreadBits Waiting() const override { return ~ThreadBits{0}; }  // each has a state in two interpreters
  void ReleaseRest();
  static void LeaveReferences(void* self);
  static void EndSubinterpreterOnly(void* self);
  void FinalizeInChild();

  int threads_ = 0;                             // of the case
  PythonReference* held_[kMaxThreads] = {};     // each by its thread only; owned
  std::atomic<PythonReference*> box_{nullptr};  // any thread; owned
  std::optional<TaggedNative> native_;          // from Begin on
  std::optional<Mutex> native_lock_;            // from Begin on; of a native library
  std::optional<Work> work_[kMaxThreads];       // from Begin on
  LateOperations<kEnds> late_;                  // what the child does
  bool first_ = true;                           // no execution has begun
  bool in_child_ = false;                       // of a fork for one case
  bool after_end_ = false;                      // in the child that finalises: one thread, and no new ones
};

bool Uses(const Case& c, int interpreter) {
  for (const std::vector<Operation>& operations : c.threads) {
    for (const Operation& operation : operations) {
      const bool names_one =
          operation.code == kMake || operation.code == kWrap || operation.code == kEnter || operation.code == kClose;
      if (names_one && operation.arguments[0] == interpreter) return true;
      if (operation.code == kRelease && operation.arguments[1] == kAttachedElsewhere) return true;
    }
  }
  return false;
}

void ReleaseSubject::Initialize(const char* argv0) {
  python::Initialize(argv0);
  python::AttachMain();
  python_release::CloseAtExit(kMain);
  python::DetachMain();
  UseOwnState(-1);
}

void ReleaseSubject::Begin(const Case& c) {
  // The first execution of a process is the last chance: there are no carriers yet. A child that runs one case makes it only if
  // it is going to use it.
  if (first_ && (!in_child_ || Uses(c, kSub))) {
    python::AttachMain();
    python::MakeSubinterpreter([] { python_release::CloseAtExit(kSub); });
    python::DetachMain();
    python::UseSubinterpreterState();
  }
  first_ = false;
  threads_ = static_cast<int>(c.threads.size());
  late_.Begin(c, in_child_);
  release_watch::Reset();
  ForgetEntries();
  python_release::Open();
  native_.emplace();
  native_lock_.emplace("native lock", 0);
  for (int t = 0; t < threads_; ++t) work_[t].emplace(t);
}

// A thread holds one reference at a time: the old one goes first.
void ReleaseSubject::Take(int thread, PythonReference* reference) {
  if (PythonReference* old = std::exchange(held_[thread], reference); old != nullptr) python_release::ByQueue(thread, old);
}

void Release(int thread, PythonReference* reference, int way) {
  switch (way) {
    case kExitBlock:
      python_release::ByExitBlock(thread, reference);
      break;
    case kQueue:
      python_release::ByQueue(thread, reference);
      break;
    case kPendingCall:
      python_release::ByPendingCall(thread, reference);
      break;
    default:
      python_release::ByLeak(thread, reference);
      break;
  }
}

// What the thread is doing when it comes to release.
void ReleaseSubject::ReleaseIn(int thread, PythonReference* reference, int way, int state) {
  if (state == kLocked) {
    PythonReference* graveyard = reference;  // S11: what must not be dropped under the lock lies here until it is given up
    {
      const Locked locked(thread, *native_lock_);
      if (NeverAttaches(way) || Has(Defect::kReleaseUnderLock)) Release(thread, std::exchange(graveyard, nullptr), way);
    }
    if (graveyard != nullptr) Release(thread, graveyard, way);
  } else if (state == kNewThread && !after_end_) {
    // Like a native library's own. To the lock order it is another thread.
    std::thread([=] { Release(kMaxThreads + thread, reference, way); }).join();
  } else if (state == kAttached || state == kAttachedElsewhere) {
    const int where = state == kAttached ? reference->interpreter : 1 - reference->interpreter;
    const bool attached = Inside(thread, where, [=] { Release(thread, reference, way); });
    if (!attached) Release(thread, reference, way);
  } else {
    Release(thread, reference, way);
  }
}

// S12: a native destructor that waits for another thread's work, which may be a release that wants to attach.
void ReleaseSubject::Join(int thread, int other) {
  if (other != thread && other < threads_) work_[other]->Join(thread);
}

void ReleaseSubject::Dispatch(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kMake:
      Inside(thread, a[0], [&] {
        PythonReference* inner = a[1] != 0 ? python_reference::Make(a[0], nullptr) : nullptr;
        Take(thread, python_reference::Make(a[0], inner));
      });
      break;
    case kWrap:
      // Refused unless the native object belongs to this interpreter, or to none as yet.
      Inside(thread, a[0], [&] {
        if (PythonReference* wrapper = python_reference::Wrap(a[0], *native_); wrapper != nullptr) Take(thread, wrapper);
      });
      break;
    case kUnwrap:
      if (PythonReference* wrapper = python_reference::Unwrap(*native_); wrapper != nullptr) Release(thread, wrapper, a[0]);
      break;
    case kRelease:
      work_[thread]->Begin();
      if (PythonReference* reference = std::exchange(held_[thread], nullptr); reference != nullptr)
        ReleaseIn(thread, reference, a[0], a[1]);
      work_[thread]->End();
      break;
    case kGive:
    case kTake: {
      if ((held_[thread] != nullptr) != (operation.code == kGive)) break;
      HANDOFF_SYNC_POINT(&box_, "swap box");
      // Acquire and release: whoever takes the reference uses what whoever gave it wrote.
      held_[thread] = box_.exchange(held_[thread], std::memory_order_acq_rel);
      break;
    }
    case kEnter:
      // What every entry does: drain. And a short use of the native library, whose lock comes after the interpreter.
      Inside(thread, a[0], [&] {
        python_release::Drain(thread, a[0]);
        if (Has(Defect::kDrainByAnybody)) python_release::Drain(thread, 1 - a[0]);
        const Locked locked(thread, *native_lock_);
      });
      break;
    case kJoin:
      Inside(thread, kMain, [&] {
        if (Has(Defect::kJoinAttached)) {
          Join(thread, a[0]);
        } else {
          const Outside outside(thread);
          Join(thread, a[0]);
        }
      });
      break;
    case kFill:
      python_release::FillPendingCalls();
      break;
    case kClose:
      Inside(thread, a[0], [&] { python_release::Close(thread, a[0]); });
      break;
    default:
      if (!after_end_) late_.Hear(a[0]);
      break;
  }
}

void ReleaseSubject::Apply(int thread, Operation operation) {
  if (late_.Heard() < 0) {
    Dispatch(thread, operation);
  } else {
    late_.Keep(thread, operation);
  }
}

void ReleaseSubject::RunLate() {
  late_.Run([this](int thread, const Operation& operation) { Dispatch(thread, operation); });
  ReleaseRest();
}

// Entering a subinterpreter is dear: only for something.
void DrainQueues() {
  for (int i = 0; i < kInterpreters; ++i) {
    if (python_release::HasQueued(0, i)) Inside(0, i, [i] { python_release::Drain(0, i); });
  }
}

// On the detached main thread. What nobody has released goes now, and queues are drained where there is anybody to do it.
void ReleaseSubject::ReleaseRest() {
  for (int t = 0; t < threads_; ++t) Take(t, nullptr);
  if (PythonReference* reference = box_.exchange(nullptr, std::memory_order_acq_rel); reference != nullptr)
    python_release::ByQueue(0, reference);
  if (PythonReference* wrapper = python_reference::Unwrap(*native_); wrapper != nullptr) python_release::ByQueue(0, wrapper);
  DrainQueues();
}

// On the attached main thread of the child: what threads hold dies with the interpreter, on the way.
void ReleaseSubject::LeaveReferences(void* self) {
  auto& subject = *static_cast<ReleaseSubject*>(self);
  PyObject* left = PyList_New(0);
  for (PythonReference*& held : subject.held_) {
    if (held == nullptr || held->interpreter != kMain) continue;
    PyObject* object = python_reference::HandOver(std::exchange(held, nullptr));
    PyList_Append(left, object);
    Py_DECREF(object);
  }
  PySys_SetObject("handoff_left", left);
  Py_DECREF(left);
}

// The same for the subinterpreter alone. The main one ends when all is done, and merges the counts of objects whose thread is not
// in the child.
void ReleaseSubject::EndSubinterpreterOnly(void* self) {
  auto& subject = *static_cast<ReleaseSubject*>(self);
  python::EndSubinterpreter();
  PyThreadState* state = PyEval_SaveThread();
  subject.RunLate();
  PyEval_RestoreThread(state);
}

// Each release has one end, also those that come too late, and no thread is left blocked: the child gets to its own end.
void ReleaseSubject::FinalizeInChild() {
  const int which = late_.Heard();
  after_end_ = true;
  const auto after = [](void* self) {
    auto& subject = *static_cast<ReleaseSubject*>(self);
    if (subject.late_.Heard() != kSubinterpreter) subject.RunLate();
    release_watch::Judge();
  };
  constexpr std::array<void (*)(void*), kEnds> kBefore = {nullptr, LeaveReferences, EndSubinterpreterOnly};
  const auto how = python::FinalizeInChild(kBefore[static_cast<std::size_t>(which)], after, this);
  after_end_ = false;
  python::JudgeAfterFinalization(how, "S1", "A release");
}

void ReleaseSubject::DropEverything() {
  if (late_.Heard() >= 0) FinalizeInChild();
  ReleaseRest();
  Clean(0);  // what is pending is counted, also if no object is left
}

void ReleaseSubject::Clean(int /*round*/) {
  python::AttachMain();
  Py_MakePendingCalls();
  python::DetachMain();
  DrainQueues();
  python_reference::Reclaim();
}

// In both interpreters: each has a queue of its own for the objects of each of its threads.
void ReleaseSubject::Finish(int thread) {
  for (int i = 0; i < kInterpreters; ++i) Inside(thread, i, RunOwnBytecode);
}

void ReleaseSubject::Judge() {
  release_watch::Judge();
  if (python_reference::Alive() == 0) return;
  oracle::Fail("missing-delete", "S0", "%d objects are left although every reference to them was dropped.",
               python_reference::Alive());
}

}  // namespace

const Alphabet& ReferenceReleasePython::Operations() { return kAlphabet; }
std::span<const Twin> ReferenceReleasePython::Twins() { return kTwins; }

std::unique_ptr<Subject> ReferenceReleasePython::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<ReleaseSubject>();
}

}  // namespace handoff::interpreter
