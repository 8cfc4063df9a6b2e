#include "harness/subjects/cache/python_cache.h"

#include <array>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/oracle/linearizability.h"
#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/thread_state.h"
#include "harness/subjects/cache/progress.h"
#include "harness/subjects/cache/python_defect.h"
#include "harness/subjects/cache/python_function.h"
#include "harness/subjects/cache/python_lock.h"
#include "harness/subjects/cache/python_small.h"
#include "harness/subjects/cache/python_watch.h"
#include "harness/subjects/cache/watch.h"
#include "harness/subjects/python_subject.h"
#include "harness/subjects/twins.h"

namespace handoff::cache {
namespace {

using namespace cpython;  // the parts

enum Code : std::uint8_t {
  kLookup,
  kInsertDefault,
  kReplace,
  kResolve,
  kAddLoop,
  kDrop,
  kShortLived,
  kCollect,
  kExport,
  kReleaseBuffer,
  kImport,
  kDefaults,
  kParse,
  kFreshKey,
  kCycle,
};

constexpr std::array<std::string_view, kForms> kFormNames = {"locked", "shared", "lock_free", "section"};
constexpr std::array<std::string_view, 2> kResolverNames = {"native", "python"};
constexpr std::array<std::string_view, 2> kOrderNames = {"c", "fortran"};
constexpr std::array<std::string_view, 2> kOutcomeNames = {"module", "error"};
constexpr Argument kTable{"table", kForms, kFormNames};
constexpr Argument kKey{"key", kKeys};
constexpr Argument kNeeds{"needs", kKeys};  // what the resolver looks up in the same table; the key itself: nothing
constexpr Argument kBy{"resolver", kResolverNames.size(), kResolverNames};
constexpr Argument kOrder{"order", kOrderNames.size(), kOrderNames};
constexpr Argument kModule{"module", SmallCaches::kModules};
constexpr Argument kNeedsModule{"needs", SmallCaches::kModules};  // as above
constexpr Argument kOutcome{"outcome", kOutcomeNames.size(), kOutcomeNames};
constexpr Argument kKeyword{"keyword", SmallCaches::kKeywords};

const std::array<OperationKind, 15> kOperations = {{
    {"lookup", {kTable, kKey}, 2, 4},
    {"insert_default", {kTable, kKey}, 2, 3},
    {"replace", {kTable, kKey}, 2, 1},
    {"resolve", {kTable, kKey, kNeeds, kBy}, 4, 4},
    {"add_loop", {kTable, kKey}, 2, 2},
    {"drop", {kTable}, 1, 1},
    {"short_lived", {kTable, kKey}, 2, 1},
    {"collect", {}, 0, 1},
    {"export", {kTable, kOrder}, 2, 2},
    {"release_buffer", {}, 0, 1},
    {"import", {kModule, kNeedsModule, kOutcome}, 3, 1},
    {"defaults", {}, 0, 1},
    {"parse", {kKeyword}, 1, 1},
    {"fresh_key", {kTable}, 1, 1},
    {"cycle", {kTable}, 1, 1},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 21> kTwinTable = {{
    {{"reader_waits_attached",
      "numpy/numpy#28577: a reader waits for the table's lock attached, so a collector waits for it, and the lock's holder for "
      "the collector",
      "deadlock"},
     Defect::kReaderWaitsAttached},
    {{"insert_fails_when_present",
      "numpy/numpy#26690 and numpy/numpy#27386: two threads miss, and the second to insert its value gets an error", "protocol"},
     Defect::kInsertFailsWhenPresent},
    {{"lock_after_table", "numpy/numpy#27953: the lock of a short-lived function's table is looked up in the freed table",
      "address"},
     Defect::kLockAfterTable},
    {{"slot_loaded_again", "numpy/numpy#30658: the probe ends at an empty slot, which is loaded a second time", "wrong-value"},
     Defect::kSlotLoadedAgain},
    {{"block_before_lock", "smallest breach of invariants 1 and 3: a writer chooses the block before it holds the lock",
      "linearizability"},
     Defect::kBlockBeforeLock},
    {{"section_assumed_held",
      "the table of numpy 2.1.2: a critical section is thought to be held while a resolver runs, which lets it go",
      "linearizability"},
     Defect::kSectionAssumedHeld},
    {{"value_not_kept", "smallest breach of invariant 9, after numpy/numpy#32531: the table borrows what nobody owns",
      "delete-while-held"},
     Defect::kValueNotKept},
    {{"loop_checked_then_set", "numpy/numpy#31112: two threads find no loop for a key, and both add one", "protocol"},
     Defect::kLoopCheckedThenSet},
    {{"records_without_section",
      "smallest breach of what guards buffer records: two threads append one without the critical section", "missing-delete"},
     Defect::kRecordsWithoutSection},
    {{"tuple_checked_then_set", "numpy/numpy#28881: a lazy static is stored again, and what was in it leaks", "missing-delete"},
     Defect::kTupleCheckedThenSet},
    {{"flag_before_table", "numpy/numpy#26430: the flag that a keyword table is full is set before it is", "wrong-value"},
     Defect::kFlagBeforeTable},
    {{"import_under_lock", "numpy commit 2e2fa1d6e3: a module is imported with the cache's lock held, and kept when that fails",
      "deadlock"},
     Defect::kImportUnderLock},
    {{"error_left_pending", "smallest breach of the error protocol: a failed import is passed over, and its exception stays",
      "protocol"},
     Defect::kErrorLeftPending},
    {{"record_rewritten",
      "numpy/numpy#28143, on other metadata: one buffer record serves all exports, and is rewritten in place for the next",
      "wrong-value"},
     Defect::kRecordRewritten},
    {{"key_not_kept",
      "pybind/pybind11#5867, in a table: a key dies, and the next object at its address is answered with its value",
      "wrong-value"},
     Defect::kKeyNotKept},
    {{"collector_clears_values",
      "smallest breach of invariant 9 in the collector's protocol: a dead function clears its values, and has its table still",
      "delete-while-held"},
     Defect::kCollectorClearsValues},
    {{"resolve_under_lock",
      "the table of numpy 2.2 to 2.4, with one mutex: a resolver runs with the lock held, and looks something up in the same "
      "table",
      "deadlock"},
     Defect::kResolveUnderLock},
    {{"callback_under_table_lock",
      "smallest breach of invariant 10 (a), the table of numpy 2.2 to 2.4, with one mutex: a resolver runs under the lock",
      "lock-order"},
     Defect::kCallbackUnderTableLock},
    {{"reads_under_writers_lock",
      "smallest breach of invariant 10 (c): a writer that has the lock looks the key up as anybody does, and so wants it again",
      "lock-order"},
     Defect::kReadsUnderWritersLock},
    {{"reader_locks_after_miss",
      "smallest breach of invariant 10 (readers never block): a lock-free lookup that misses takes the writers' lock and looks "
      "again",
      "lock-order"},
     Defect::kReaderLocksAfterMiss},
    {{"outgrown_block_cleared",
      "smallest breach of invariant 7: an outgrown block is cleared, and readers who are in it find it empty (invariant 4)",
      "protocol"},
     Defect::kOutgrownBlockCleared},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// Leaves whatever lives as long as the process out of collections: each would look at all of it, thousands of objects.
void FreezeHeap() {
  PyObject* gc = PyImport_ImportModule("gc");
  CheckMemory(gc != nullptr);
  PyObject* answer = PyObject_CallMethod(gc, "freeze", nullptr);
  CheckMemory(answer != nullptr);
  Py_DECREF(answer);
  Py_DECREF(gc);
}

class PythonCacheSubject final : public PythonSubject {
 public:
  void Initialize(const char* argv0) override;
  void Begin(const Case& c) override;
  void Apply(int thread, Operation operation) override;

 private:
  // The newest function of a form.
  struct Newest {
    PyMutex mutex{};
    Function* function = nullptr;  // guarded by mutex; owns a reference
  };

  // What a thread holds; used by that thread only. References are never taken or given back between operations, for that would
  // order the threads.
  struct Held {
    Function* functions[kForms] = {};  // own references; null after `drop`
    int had[kForms] = {};              // the number of the last one held
    Py_buffer view{};                  // owns a reference, and is released, if its `obj` is not null
    bool fortran = false;              // the order of the view
  };

  Function* Made(Form form);
  Function& Join(Held& held, Form form);
  void ApplyToFunction(int thread, const Operation& operation);
  void UseShortLived(int thread, Form form, int key);
  void ApplyToSmall(const Operation& operation);
  void Import(int module, int needs, bool fails);
  void Parse(int keyword);
  static void CheckView(const Held& held);
  void DropEverything() override;
  bool Outstanding() override { return cpython::watch::Outstanding(); }
  void Clean(int round) override;
  void Judge() override;

  Program program_{kAlphabet};
  Newest newest_[kForms];
  Held held_[kMaxThreads];
  std::optional<SmallCaches> small_;  // from Begin to the first NeedsFinish
  std::atomic<int> next_number_ = 0;
};

void PythonCacheSubject::Initialize(const char* argv0) {
  python::Initialize(argv0);
  python::AttachMain();
  MakeValueType();
  MakeKeys();
  MakeFunctionType();
  SmallCaches::MakeModules();
  FreezeHeap();
  python::DetachMain();
}

void PythonCacheSubject::Begin(const Case& c) {
  program_.Remember(c);
  linearizability::Reset();
  cache::watch::Reset();
  cpython::watch::Reset();
  progress::Reset();
  next_number_ = 0;
  small_.emplace();
  python::AttachMain();
  for (int form = 0; form < kForms; ++form) {
    Function* function = newest_[form].function = Made(Form{static_cast<std::uint8_t>(form)});
    for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
      Py_INCREF(function);
      held_[thread].functions[form] = function;
      held_[thread].had[form] = function->number;
    }
  }
  python::DetachMain();
}

Function* PythonCacheSubject::Made(Form form) {
  // Relaxed: only the number counts.
  return NewFunction(form, next_number_.fetch_add(1, std::memory_order_relaxed));
}

// The function that the thread holds, or else one that it has not dropped yet.
Function& PythonCacheSubject::Join(Held& held, Form form) {
  const auto i = static_cast<std::size_t>(form);
  if (held.functions[i] != nullptr) return *held.functions[i];
  Newest& newest = newest_[i];
  Function* fresh = Made(form);  // outside the lock, and perhaps for nothing
  Function* replaced = fresh;
  {
    const MutexLock lock(newest.mutex);
    if (newest.function->number <= held.had[i]) std::swap(newest.function, replaced);
    Py_INCREF(newest.function);
    held.functions[i] = newest.function;
  }
  held.had[i] = held.functions[i]->number;
  Py_DECREF(replaced);
  return *held.functions[i];
}

void PythonCacheSubject::ApplyToFunction(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  Held& held = held_[thread];
  Function& function = Join(held, Form{a[0]});
  cache::watch::UseBegins(function.number);
  switch (operation.code) {
    case kLookup:
      Lookup(thread, function, a[1]);
      break;
    case kInsertDefault:
      InsertDefault(thread, function, a[1]);
      break;
    case kReplace:
      Replace(thread, function, a[1]);
      break;
    case kResolve:
      Call(thread, function, a[1], {a[2], a[3] != 0});
      break;
    case kAddLoop:
      AddLoop(function, a[1]);
      break;
    case kFreshKey:
      UseFreshKey(thread, function);
      break;
    case kCycle:
      MakeCycle(function);
      break;
    default:
      PyBuffer_Release(&held.view);
      held.fortran = a[1] != 0;
      PyObject_GetBuffer(&function, &held.view, held.fortran ? PyBUF_F_CONTIGUOUS : PyBUF_C_CONTIGUOUS);
      CheckView(held);
      break;
  }
  cache::watch::UseEnds(function.number);
}

void PythonCacheSubject::CheckView(const Held& held) {
  const Py_buffer& view = held.view;
  if (view.obj == nullptr || view.strides[held.fortran ? 0 : 1] == 1) return;
  oracle::Fail("wrong-value", "buffer records", "A buffer was exported with the strides of another order.");
}

// A function that nobody else ever sees, and that is freed at once.
void PythonCacheSubject::UseShortLived(int thread, Form form, int key) {
  Function* function = Made(form);
  Call(thread, *function, key, {key, false});
  Call(thread, *function, key, {key, false});
  Py_DECREF(function);
}

void PythonCacheSubject::Import(int module, int needs, bool fails) {
  PyObject* found = small_->Import(module, needs, fails);
  if (found != nullptr) {
    Look(static_cast<Value*>(found), module);
  } else if (fails && PyErr_ExceptionMatches(PyExc_ImportError) != 0 && !Has(Defect::kErrorLeftPending)) {
    PyErr_Clear();  // the one exception that is due
  }
}

void PythonCacheSubject::Parse(int keyword) {
  if (const int found = small_->Find(keyword); found != keyword) {
    oracle::Fail("wrong-value", "keyword table",
                 "Keyword %d was found at position %d of the table. Expected the table to be full before anybody is told so.",
                 keyword, found);
  }
}

void PythonCacheSubject::ApplyToSmall(const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kImport:
      Import(a[0], a[1], a[2] != 0);
      break;
    case kDefaults:
      Look(static_cast<Value*>(PyTuple_GetItem(small_->Defaults(), 0)), 0);
      break;
    default:
      Parse(a[0]);
      break;
  }
}

void PythonCacheSubject::Apply(int thread, Operation operation) {
  Held& held = held_[thread];
  const auto& a = operation.arguments;
  linearizability::OperationBegins(thread);
  python::Attach(thread);
  switch (operation.code) {
    case kDrop:
      Py_CLEAR(held.functions[a[0]]);
      break;
    case kShortLived:
      UseShortLived(thread, Form{a[0]}, a[1]);
      break;
    case kCollect:
      python::Collect();
      break;
    case kReleaseBuffer:
      CheckView(held);
      PyBuffer_Release(&held.view);
      break;
    case kImport:
    case kDefaults:
    case kParse:
      ApplyToSmall(operation);
      break;
    default:
      ApplyToFunction(thread, operation);
      break;
  }
  if (PyErr_Occurred() != nullptr) {
    oracle::Fail("protocol", "error indicator", "An operation of %c was successful and leaves an exception pending.",
                 'A' + thread);
  }
  python::Detach(thread);
}

void PythonCacheSubject::DropEverything() {
  JudgeHistory(program_);
  python::AttachMain();
  for (Held& held : held_) {
    PyBuffer_Release(&held.view);
    for (Function*& function : held.functions) Py_CLEAR(function);
  }
  for (Newest& newest : newest_) Py_CLEAR(newest.function);
  small_.reset();
  python::DetachMain();
}

// Most often the threads have only to be drained, and a collection costs as much as a few executions.
void PythonCacheSubject::Clean(int round) {
  python::AttachMain();
  round <= 2 ? python::RunBytecode() : python::Collect();
  python::DetachMain();
}

void PythonCacheSubject::Judge() {
  cpython::watch::Judge();
  CheckLocks();
}

}  // namespace

const Alphabet& PythonCache::Operations() { return kAlphabet; }
std::span<const Twin> PythonCache::Twins() { return kTwins; }

std::unique_ptr<Subject> PythonCache::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<PythonCacheSubject>();
}

}  // namespace handoff::cache
