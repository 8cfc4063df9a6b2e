#include "harness/subjects/interpreter/python_slot.h"

#include <array>
#include <atomic>
#include <string_view>
#include <utility>

#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/finalization.h"
#include "harness/python/thread_state.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/python_side.h"
#include "harness/subjects/interpreter/watch.h"
#include "harness/subjects/late_operations.h"
#include "harness/subjects/python_subject.h"
#include "harness/subjects/twins.h"

namespace handoff::interpreter {
namespace {

enum Code : std::uint8_t {
  kNew,
  kWrap,
  kUnwrap,
  kCopy,
  kDrop,
  kDropWrapper,
  kWeak,
  kLock,
  kGive,
  kTake,
  kPass,
  kReceive,
  kWeakref,
  kStrong,
  kCycle,
  kCollect,
  kFinalize,
  kBytecode,
  kLookUp,
};

constexpr std::array<std::string_view, 2> kHowNames = {"copied", "moved"};
constexpr std::array<std::string_view, 2> kThreadNames = {"attached", "detached"};
constexpr Argument kHow{"how", kHowNames.size(), kHowNames};
constexpr Argument kThread{"thread", kThreadNames.size(), kThreadNames};

const std::array<OperationKind, 19> kOperations = {{
    {"new", {}, 0, 1},         {"wrap", {kHow}, 1, 5},     {"unwrap", {}, 0, 2},      {"copy", {kThread}, 1, 2},
    {"drop", {kThread}, 1, 4}, {"drop_wrapper", {}, 0, 4}, {"weak", {kThread}, 1, 1}, {"lock", {kThread}, 1, 3},
    {"give", {kThread}, 1, 2}, {"take", {kThread}, 1, 2},  {"pass", {}, 0, 2},        {"receive", {}, 0, 2},
    {"weakref", {}, 0, 1},     {"strong", {}, 0, 1},       {"cycle", {}, 0, 1},       {"collect", {}, 0, 1},
    {"finalize", {}, 0, 0},    {"bytecode", {}, 0, 2},     {"look_up", {}, 0, 2},
}};
const Alphabet kAlphabet = {kOperations};

// Without `flag_before_incref`: the wrapper belongs to the thread that makes it, and until that thread merges the counts nobody
// else can end it (biased reference counting), so that the reference which is missing for a moment is never missed.
constexpr std::array<TwinOf<Defect>, 11> kTwinTable = {{
    {{"no_undo", "smallest breach of C6: a reference taken for others' sake is kept although they went", "missing-delete"},
     Defect::kNoUndo},
    {{"lock_counts_first", "the first weak lock of pytorch/pytorch#167564: it counts up, then takes a wrapper that may be going",
      "protocol"},
     Defect::kLockCountsFirst},
    {{"incref_for_try_incref", "wjakob/nanobind#864: a lookup takes a reference to a wrapper whose last one is gone", "address"},
     Defect::kIncrefForTryIncref},
    {{"slot_not_cleared", "smallest breach of C2: the slot leads to a wrapper that was freed", "delete-while-held"},
     Defect::kSlotNotCleared},
    {{"loser_drops_first",
      "smallest breach of C8: the loser of a race drops what keeps the winner's wrapper alive, then takes that one", "address"},
     Defect::kLoserDropsFirst},
    {{"slot_checked_then_stored", "pytorch/pytorch#179767: two threads find no wrapper and both store one", "protocol"},
     Defect::kSlotCheckedThenStored},
    {{"copy_without_incref", "smallest breach of C3: a copy from the wrapper's own reference does not keep the wrapper",
      "protocol"},
     Defect::kCopyWithoutIncref},
    {{"release_unattached", "numpy/numpy#22507: the native side drops its reference without a thread state", "no-thread-state"},
     Defect::kReleaseUnattached},
    {{"attach_after_end", "wjakob/nanobind commit ab2d8b10: a late release attaches to an interpreter that has ended",
      "after-finalization"},
     Defect::kAttachAfterEnd},
    {{"payload_not_traversed", "smallest breach of the collector's protocol: a wrapper hides what it refers to",
      "missing-delete"},
     Defect::kPayloadNotTraversed},
    {{"try_incref_not_enabled",
      "smallest breach of C7: a wrapper is seen before conditional increfs of it are allowed, so a lookup misses it", "protocol"},
     Defect::kTryIncrefNotEnabled},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// The carrier's own thread state, attached.
class OwnState {
 public:
  OwnState(int thread, bool attached) : thread_(thread), attached_(attached) {
    if (attached_) python::Attach(thread_);
  }
  ~OwnState() {
    if (attached_) python::Detach(thread_);
  }
  OwnState(const OwnState&) = delete;
  OwnState& operator=(const OwnState&) = delete;

 private:
  const int thread_;
  const bool attached_;
};

class PythonSlotSubject final : public PythonSubject {
 public:
  void Initialize(const char* argv0) override;
  void Begin(const Case& c) override;
  void Apply(int thread, Operation operation) override;
  void AfterForkChild() override {
    PythonSubject::AfterForkChild();
    in_child_ = true;
  }

 private:
  // What a thread holds; used by that thread only, each field owns a reference.
  struct Held {
    CountNative* native = nullptr;
    CountNative* weak = nullptr;
    PyObject* wrapper = nullptr;
    PyObject* weakref = nullptr;
  };

  void ApplyAttached(Held& held, const Operation& operation);
  void LookUpWrapper(Held& held);
  void ApplyNative(int thread, Held& held, const Operation& operation);
  PyObject* SwapWrapper(PyObject* wrapper);
  static void ReplaceNative(int thread, Held& held, CountNative* native);
  void Dispatch(int thread, const Operation& operation);
  void FinalizeWithNatives();
  void ApplyAfterEnd(int thread, const Operation& operation);
  void DropNatives();
  void DropEverything() override;
  bool Outstanding() override { return watch::Outstanding(); }
  void Clean(int round) override;
  void Judge() override { watch::Judge(); }

  PythonSide side_;
  Held held_[kMaxThreads];
  int threads_ = 0;                         // of the case
  std::atomic<CountNative*> box_{nullptr};  // any thread; owns a reference
  PyMutex wrapper_mutex_{};
  PyObject* wrapper_box_ = nullptr;  // guarded by wrapper_mutex_; owns a reference
  LateOperations<1> late_;           // what the child does
  bool in_child_ = false;            // of a fork for one case
};

void PythonSlotSubject::Initialize(const char* argv0) {
  python::Initialize(argv0);
  python::AttachMain();
  PythonSide::MakeType();
  python::DetachMain();
}

void PythonSlotSubject::Begin(const Case& c) {
  threads_ = static_cast<int>(c.threads.size());
  watch::Reset();
  late_.Begin(c, in_child_);
  CountNative* native = new PythonNative(side_);
  for (int t = 0; t < threads_; ++t) {
    held_[t].native = t == 0 ? native : count::Copy(0, native);
    count::CopyWeak(native);
    held_[t].weak = native;
  }
}

PyObject* PythonSlotSubject::SwapWrapper(PyObject* wrapper) {
  HANDOFF_SYNC_POINT(&wrapper_mutex_, "lock wrapper box");
  PyMutex_Lock(&wrapper_mutex_);
  std::swap(wrapper_box_, wrapper);
  PyMutex_Unlock(&wrapper_mutex_);
  return wrapper;
}

void PythonSlotSubject::ReplaceNative(int thread, Held& held, CountNative* native) {
  if (CountNative* old = std::exchange(held.native, native); old != nullptr) count::Drop(thread, old);
}

void PythonSlotSubject::ApplyAttached(Held& held, const Operation& operation) {
  switch (operation.code) {
    case kWrap: {
      if (held.native == nullptr) break;
      Py_CLEAR(held.wrapper);
      const bool moved = operation.arguments[0] != 0;
      CountNative* native = moved ? std::exchange(held.native, nullptr) : held.native;
      held.wrapper = static_cast<PyObject*>(count::Wrap(0, native, moved));
      break;
    }
    case kUnwrap:
      if (held.wrapper != nullptr) ReplaceNative(0, held, count::Copy(0, NativeOf(held.wrapper)));
      break;
    case kDropWrapper:
      Py_CLEAR(held.wrapper);
      break;
    case kPass:
      if (held.wrapper != nullptr) Py_XDECREF(SwapWrapper(std::exchange(held.wrapper, nullptr)));
      break;
    case kReceive:
      if (PyObject* taken = SwapWrapper(nullptr); taken != nullptr) Py_XSETREF(held.wrapper, taken);
      break;
    case kWeakref:
      if (held.wrapper != nullptr) Py_XSETREF(held.weakref, PyWeakref_NewRef(held.wrapper, nullptr));
      break;
    case kStrong: {
      PyObject* strong = nullptr;
      if (held.weakref == nullptr || PyWeakref_GetRef(held.weakref, &strong) != 1) break;
      watch::WrapperReturned(NativeOf(strong)->number, side_.Number(strong));
      Py_XSETREF(held.wrapper, strong);
      break;
    }
    case kCycle:
      if (held.wrapper != nullptr) MakeCycle(held.wrapper);
      break;
    case kLookUp:
      LookUpWrapper(held);
      break;
    case kBytecode:
      // Merges what others have dropped of wrappers that this thread made: their last reference may be anybody's now.
      python::RunBytecode();
      break;
    default:
      python::Collect();
      break;
  }
}

// Whoever holds the native object strongly, so that its wrapper cannot go, finds the wrapper if there is one.
void PythonSlotSubject::LookUpWrapper(Held& held) {
  CountNative& native = *held.weak;
  const bool must_find = held.native == held.weak && native.slot.load(std::memory_order_acquire) != nullptr;
  PyObject* found = LookUp(native);
  if (found == nullptr) {
    if (must_find) watch::WronglyNotFound(native.number);
    return;
  }
  watch::WrapperTaken(native.number, side_.Number(found));
  watch::WrapperReturned(native.number, side_.Number(found));
  Py_XSETREF(held.wrapper, found);
}

// What native code does, with a thread state or without.
void PythonSlotSubject::ApplyNative(int thread, Held& held, const Operation& operation) {
  switch (operation.code) {
    case kCopy:
      if (held.native != nullptr) count::Drop(thread, count::Copy(thread, held.native));
      break;
    case kDrop:
      ReplaceNative(thread, held, nullptr);
      break;
    case kWeak:
      if (held.native == nullptr) break;
      count::CopyWeak(held.native);
      count::DropWeak(std::exchange(held.weak, held.native));
      break;
    case kLock: {
      CountNative* locked = count::Lock(thread, held.weak);
      if (locked != nullptr) {
        ReplaceNative(thread, held, locked);
      } else if (held.native == held.weak) {
        watch::WronglyExpired(held.weak->number);
      }
      break;
    }
    case kGive:
    case kTake:
      if ((held.native != nullptr) != (operation.code == kGive)) break;
      HANDOFF_SYNC_POINT(&box_, "swap box");
      // Acquire and release: whoever takes the reference uses what whoever gave it wrote.
      held.native = box_.exchange(held.native, std::memory_order_acq_rel);
      break;
    default:
      ReplaceNative(thread, held, new PythonNative(side_));
      break;
  }
}

void PythonSlotSubject::Apply(int thread, Operation operation) {
  if (late_.Heard() < 0) {
    Dispatch(thread, operation);
  } else {
    late_.Keep(thread, operation);
  }
}

void PythonSlotSubject::Dispatch(int thread, const Operation& operation) {
  switch (operation.code) {
    case kFinalize:
      late_.Hear(0);
      break;
    case kNew:
    case kCopy:
    case kDrop:
    case kWeak:
    case kLock:
    case kGive:
    case kTake: {
      const OwnState state(thread, operation.arguments[0] == 0);
      ApplyNative(thread, held_[thread], operation);
      break;
    }
    default: {
      const OwnState state(thread, true);
      ApplyAttached(held_[thread], operation);
      break;
    }
  }
}

void PythonSlotSubject::DropNatives() {
  for (int t = 0; t < threads_; ++t) ReplaceNative(0, held_[t], nullptr);
  if (CountNative* native = box_.exchange(nullptr, std::memory_order_acq_rel); native != nullptr) count::Drop(0, native);
}

// Native code goes on, without a thread state, whichever it had. Python code does not.
void PythonSlotSubject::ApplyAfterEnd(int thread, const Operation& operation) {
  switch (operation.code) {
    case kNew:
    case kCopy:
    case kDrop:
    case kWeak:
    case kLock:
    case kGive:
    case kTake:
      ApplyNative(thread, held_[thread], operation);
      break;
    default:
      break;
  }
}

// What native code still holds when the interpreter is gone, it uses and drops afterwards.
void PythonSlotSubject::FinalizeWithNatives() {
  const auto drop = [](void* context) {
    auto& self = *static_cast<PythonSlotSubject*>(context);
    self.late_.Run([&self](int thread, const Operation& operation) { self.ApplyAfterEnd(thread, operation); });
    self.DropNatives();
  };
  python::JudgeAfterFinalization(python::FinalizeInChild(nullptr, drop, this), "S1", "A native object's release");
}

void PythonSlotSubject::DropEverything() {
  if (late_.Heard() >= 0) FinalizeWithNatives();
  for (int t = 0; t < threads_; ++t) {
    if (held_[t].native != nullptr) count::CheckOwnership(*held_[t].native);
  }
  DropNatives();
  python::AttachMain();
  Py_XDECREF(SwapWrapper(nullptr));
  for (int t = 0; t < threads_; ++t) {
    Py_CLEAR(held_[t].wrapper);
    Py_CLEAR(held_[t].weakref);
    count::DropWeak(std::exchange(held_[t].weak, nullptr));
  }
  python::DetachMain();
}

void PythonSlotSubject::Clean(int /*round*/) {
  python::AttachMain();
  python::Collect();
  python::DetachMain();
}

}  // namespace

const Alphabet& PythonSlot::Operations() { return kAlphabet; }
std::span<const Twin> PythonSlot::Twins() { return kTwins; }

std::unique_ptr<Subject> PythonSlot::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<PythonSlotSubject>();
}

}  // namespace handoff::interpreter
