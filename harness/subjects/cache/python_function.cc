#include "harness/subjects/cache/python_function.h"

#include <optional>
#include <utility>

#include "harness/oracle/linearizability.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/progress.h"
#include "harness/subjects/cache/python_defect.h"
#include "harness/subjects/cache/python_lock.h"
#include "harness/subjects/cache/python_watch.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache::cpython {
namespace {

PyTypeObject* function_type = nullptr;  // owned for the life of the process
PyObject* python_resolver = nullptr;    // owned for the life of the process; shared, read only
thread_local int calling = 0;           // the thread that is in a call, for calls that come back through Python code

Function* Cast(PyObject* function) { return static_cast<Function*>(function); }

// What stands for a function at scheduling points: not its address, which an allocator chose.
const void* Token(const Function& function) {
  static constexpr char kTokens[cache::watch::kMaxOwners] = {};
  return &kTokens[function.number];
}

// The sequential map that the tables are compared with: a key's state is the number of its value, 0 if it has none.
int ApplyToMap(int* state, int operation, int argument) {
  const int before = *state;
  if (operation == kReplaced || (operation == kInsertedDefault && before == 0)) *state = argument;
  return operation == kReplaced ? before : *state;
}

// Invariant 3: nothing that was inserted is lost. Invariant 1: everybody agrees on one value.
const char* InvariantOf(int /*operation*/, int result) { return result == 0 ? "invariant 3" : "invariant 1"; }

// Each form has a function from the start.
const char* PlaceOf(int function) { return function < kForms ? "" : " of a table made during the run,"; }

constexpr linearizability::Words kCalls[] = {{"lookup"}, {"insert_default"}, {"replace"}};
constexpr linearizability::Specification kMap = {0, &ApplyToMap, &InvariantOf, kCalls, &PlaceOf};

// A call on the table, in the history. The caller has entered the function's section if the form has one.
template <typename Step>
const Implementation* Record(int thread, const Function& function, int key, HistoryCode code, int argument, Step step) {
  const int call = linearizability::Called(thread, function.number, key, code, argument);
  const Implementation* answer = step(*function.table, KeyOf(KeyObject(key)));
  linearizability::Returned(call, Look(answer, key));
  return answer;
}

void Enter(std::optional<Section>& section, Function& function) {
  if (function.form != Form::kSection) return;
  HANDOFF_SYNC_POINT(Token(function), "enter section");
  section.emplace(&function);
}

const Implementation* Get(int thread, const Function& function, int key) {
  const bool found_before = cache::watch::LookupBegins(function.number, key);
  const auto step = [thread](Table& table, const Key& k) { return table.Get(thread, k); };
  const Implementation* found = Record(thread, function, key, kGot, 0, step);
  cache::watch::LookupEnds(function.number, key, found_before, found != nullptr);
  return found;
}

const Implementation* SetDefault(int thread, const Function& function, int key, const Implementation* mine) {
  watch::Offered(mine->number, function.watched);
  const auto step = [thread, mine](Table& table, const Key& k) {
    const Implementation* value = table.SetDefault(thread, k, mine);
    if (Has(Defect::kInsertFailsWhenPresent) && value != mine) {
      PyErr_SetString(PyExc_RuntimeError, "the table has this key already");
      return static_cast<const Implementation*>(nullptr);
    }
    return value;
  };
  const Implementation* value = Record(thread, function, key, kInsertedDefault, mine->number, step);
  if (value != nullptr && PyErr_Occurred() == nullptr) return value;
  oracle::Fail("protocol", "invariant 5",
               "%c offered a value for key %d and got none back, or an error: its insertion failed. Expected it to succeed, and "
               "where another thread was faster to answer with that thread's value.",
               'A' + thread, key);
}

// What a caller does who thinks that nobody can have been in the section since it looked: it fills the bucket.
const Implementation* Fill(int thread, const Function& function, int key, const Implementation* mine) {
  return Record(thread, function, key, kInsertedDefault, mine->number, [thread, mine](Table& table, const Key& k) {
    table.Replace(thread, k, mine);
    return mine;
  });
}

// A new reference to a new value, which the function keeps alive from now on.
Value* NewKept(const Function& function, int key) {
  Value* value = NewValue(key);
  // One step, and nobody reads the list before the function is freed.
  if (!Has(Defect::kValueNotKept)) CheckMemory(PyList_Append(function.kept, value) == 0);
  return value;
}

// Foreign code. A new reference to the loop that was added for the key, or to something new.
Value* Resolve(int thread, Function& function, int key, const Resolver& resolver) {
  progress::RunsCallback(thread);
  if (resolver.needs != key && !resolver.python) Call(thread, function, resolver.needs, {resolver.needs, false});
  if (resolver.needs != key && resolver.python) {
    PyObject* answer = PyObject_CallFunctionObjArgs(python_resolver, &function, KeyObject(resolver.needs), nullptr);
    CheckMemory(answer != nullptr);
    Py_DECREF(answer);
  }
  PyObject* loop = nullptr;
  CheckMemory(PyDict_GetItemRef(function.loops, KeyObject(key), &loop) >= 0);
  return loop != nullptr ? static_cast<Value*>(loop) : NewKept(function, key);
}

// function(key) in Python.
PyObject* CallFromPython(PyObject* self, PyObject* arguments, PyObject* /*keywords*/) {
  const int thread = calling;
  const int key = KeyOfObject(PyTuple_GetItem(arguments, 0));
  const Implementation* found = Call(thread, *Cast(self), key, {key, false});
  return Py_NewRef(static_cast<PyObject*>(const_cast<Value*>(static_cast<const Value*>(found))));
}

void SetOrder(BufferRecord& record, bool fortran) {
  record.fortran = fortran;
  record.strides[0] = fortran ? 1 : kColumns;
  record.strides[1] = fortran ? kRows : 1;
}

// The record of that order, made when it is first asked for. Look and append in one section: two threads that find none would
// both append, and one of the records would be lost.
BufferRecord* RecordOf(Function& function, bool fortran) {
  std::optional<Section> section;
  HANDOFF_SYNC_POINT(Token(function), "enter section");
  if (!Has(Defect::kRecordsWithoutSection)) section.emplace(&function);
  for (BufferRecord* record = function.records; record != nullptr; record = record->next) {
    if (Has(Defect::kRecordRewritten)) SetOrder(*record, fortran);
    if (record->fortran == fortran) return record;
  }
  auto* record = new BufferRecord;
  record->number = watch::Made(watch::Kind::kRecord);
  SetOrder(*record, fortran);
  record->next = function.records;
  HANDOFF_SYNC_POINT(Token(function), "link record");
  function.records = record;
  return record;
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  Function& function = *Cast(self);
  BufferRecord* record = RecordOf(function, (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS);
  *view = {};
  view->obj = Py_NewRef(self);
  view->buf = function.bytes;
  view->len = sizeof function.bytes;
  view->itemsize = 1;
  view->readonly = 1;
  view->ndim = 2;
  view->shape = record->shape;
  view->strides = record->strides;
  return 0;
}

// On whichever thread the last reference ends. Nobody is in the table any more (invariant 11).
void Dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Function& function = *Cast(self);
  cache::watch::Freed(function.number);
  watch::Gone(function.watched);
  HANDOFF_SYNC_POINT(Token(function), "free function");
  function.table->Check();
  Free(function.table);
  Py_DECREF(function.loops);
  Py_XDECREF(function.kept);
  Py_XDECREF(function.payload);
  for (BufferRecord* record = function.records; record != nullptr;) {
    watch::Gone(record->number);
    delete std::exchange(record, record->next);
  }
  PyObject_GC_Del(self);
  Py_DECREF(function_type);
}

// The containers of loops and values are not shown to the collector, and not cleared. Nothing in them leads back to the function;
// and what belongs to a dead cycle is cleared before it is freed, so the values would go before the table that leads to them
// (invariant 9).
int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(Cast(self)->payload);
  return 0;
}

int Clear(PyObject* self) {
  if (Has(Defect::kCollectorClearsValues)) Py_CLEAR(Cast(self)->kept);
  Py_CLEAR(Cast(self)->payload);
  return 0;
}

}  // namespace

void MakeFunctionType() {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},     {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(Clear)},         {Py_tp_call, reinterpret_cast<void*>(CallFromPython)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)}, {0, nullptr}};
  static PyType_Spec spec = {"handoff.Function", sizeof(Function), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  PyObject* globals = PyDict_New();
  python_resolver = PyRun_String("lambda function, key: function(key)", Py_eval_input, globals, globals);
  Py_XDECREF(globals);
  CheckMemory(function_type != nullptr && python_resolver != nullptr);
}

Function* NewFunction(Form form, int number) {
  Function* function = PyObject_GC_New(Function, function_type);
  CheckMemory(function != nullptr);
  function->number = number;
  function->watched = watch::Made(watch::Kind::kFunction);
  function->form = form;
  function->table = NewTable(form, number);
  function->loops = PyDict_New();
  function->kept = PyList_New(0);
  CheckMemory(function->loops != nullptr && function->kept != nullptr);
  function->payload = nullptr;
  function->records = nullptr;
  for (char& byte : function->bytes) byte = 0;
  PyObject_GC_Track(function);
  return function;
}

const Implementation* Lookup(int thread, Function& function, int key) {
  std::optional<Section> section;
  Enter(section, function);
  return Get(thread, function, key);
}

const Implementation* InsertDefault(int thread, Function& function, int key) {
  Value* mine = NewKept(function, key);
  std::optional<Section> section;
  Enter(section, function);
  const Implementation* value = SetDefault(thread, function, key, mine);
  Py_DECREF(mine);
  return value;
}

void Replace(int thread, Function& function, int key) {
  Value* mine = NewKept(function, key);
  watch::Offered(mine->number, function.watched);
  std::optional<Section> section;
  Enter(section, function);
  Record(thread, function, key, kReplaced, mine->number,
         [thread, mine](Table& table, const Key& k) { return table.Replace(thread, k, mine); });
  Py_DECREF(mine);
}

const Implementation* Call(int thread, Function& function, int key, const Resolver& resolver) {
  calling = thread;
  std::optional<Section> section;
  Enter(section, function);
  if (const Implementation* found = Get(thread, function, key); found != nullptr) return found;
  Value* mine = nullptr;
  {
    std::optional<MutexLock> unseen;
    std::optional<HoldingMutex> seen;
    if (function.form == Form::kLocked) {
      // Not seen by the oracle for progress, which would end the run before the deadlock.
      if (Has(Defect::kResolveUnderLock)) unseen.emplace(function.table->locks->writers);
      if (Has(Defect::kCallbackUnderTableLock)) seen.emplace(thread, function.table->locks->writers);
    }
    // Nothing is held meanwhile: the resolver may look something up here. A section that the form has is let go while the
    // resolver waits, so what Get said is old afterwards.
    mine = Resolve(thread, function, key, resolver);
  }
  const Implementation* value = nullptr;
  if (Has(Defect::kSectionAssumedHeld) && function.form == Form::kSection) {
    value = Fill(thread, function, key, mine);
  } else {
    value = SetDefault(thread, function, key, mine);
  }
  Py_DECREF(mine);
  return value;
}

// CPython gives a new float the memory of the one that this thread freed last. So a key that is in the table although it died
// is met again at once, as an object that it is not.
void UseFreshKey(int thread, Function& function) {
  PyObject* object = PyFloat_FromDouble(0.5);
  CheckMemory(object != nullptr);
  if (!Has(Defect::kKeyNotKept)) CheckMemory(PyList_Append(function.kept, object) == 0);
  Value* mine = NewKept(function, kKeys);
  watch::Offered(mine->number, function.watched);
  {
    std::optional<Section> section;
    Enter(section, function);
    if (function.table->Get(thread, KeyOf(object)) != nullptr) {
      oracle::Fail(
          "wrong-value", "invariant 9",
          "A key that was just made is in the table of function %d. Expected what owns the table to keep its keys alive, so "
          "that their addresses are not given to others.",
          function.number);
    }
    Look(function.table->SetDefault(thread, KeyOf(object), mine), kKeys);
  }
  Py_DECREF(mine);
  Py_DECREF(object);
}

void MakeCycle(Function& function) {
  const Section section(&function);
  if (function.payload == nullptr) function.payload = Py_NewRef(&function);
}

void AddLoop(Function& function, int key) {
  Value* mine = NewValue(key);
  PyObject* loop = nullptr;
  HANDOFF_SYNC_POINT(Token(function), "add loop");
  if (Has(Defect::kLoopCheckedThenSet)) {
    const bool there = PyDict_Contains(function.loops, KeyObject(key)) == 1;
    HANDOFF_SYNC_POINT(Token(function), "set loop");
    if (!there) CheckMemory(PyDict_SetItem(function.loops, KeyObject(key), mine) == 0);
    if (!there) watch::LoopAdded(function.number, key);
  } else {
    // One step: whoever finds the key absent adds its own.
    const int there = PyDict_SetDefaultRef(function.loops, KeyObject(key), mine, &loop);
    CheckMemory(there >= 0);
    if (there == 0) watch::LoopAdded(function.number, key);
  }
  Py_XDECREF(loop);
  Py_DECREF(mine);
}

void JudgeHistory(const Program& program) { linearizability::Judge(kMap, program.ForVerdicts()); }

}  // namespace handoff::cache::cpython
