// A function object that has caches: a dispatch table from types of arguments to implementations, the loops that users added, and
// records of the buffers that it exported. It is the owner of everything its table points to.
//
// A call looks into the table; on a miss it finds an implementation out without any lock, for that may run Python code, which may
// call the same function (invariant 10). Any number of threads may do so at once; what the table has afterwards counts
// (invariants 1 and 5).
#pragma once

#include "harness/python/embed.h"
#include "harness/subjects/cache/program.h"
#include "harness/subjects/cache/python_table.h"
#include "harness/subjects/cache/python_value.h"

namespace handoff::cache::cpython {

// Of what a function exports.
inline constexpr Py_ssize_t kRows = 2;
inline constexpr Py_ssize_t kColumns = 2;

// Shape and strides that exported buffers point to. Kept until the function is freed, and used for every export of its order.
struct BufferRecord {
  int number = 0;                // the watch's
  bool fortran = false;          // the order of the strides
  BufferRecord* next = nullptr;  // owned by the function
  Py_ssize_t shape[2] = {kRows, kColumns};
  Py_ssize_t strides[2] = {};
};

struct Function : PyObject {
  int number;             // from 0, unique in an execution
  int watched;            // the watch's number
  Form form;              // never changed
  Table* table;           // owned
  PyObject* loops;        // owned; a dictionary from key to the one value that users added for it; entries are never removed
  PyObject* kept;         // owned; a list of all other values, and keys, that ever were in the table
  PyObject* payload;      // guarded by the critical section; owned; what users attached, or null
  BufferRecord* records;  // guarded by the function's critical section; owned, a list that only grows
  char bytes[kRows * kColumns];  // what is exported
};

// How an implementation is found out when the table has none.
struct Resolver {
  int needs = 0;        // a key that is looked up in the same table first, unless it is the same
  bool python = false;  // by Python code that calls the function, else by native code
};

// Makes the type and the Python code of resolvers, for the life of the process. On the attached main thread, once.
void MakeFunctionType();

// All by attached threads, with a reference to the function; `thread` is who calls. What is returned is borrowed from the
// function.
Function* NewFunction(Form form, int number);  // a new reference
const Implementation* Lookup(int thread, Function& function, int key);
const Implementation* InsertDefault(int thread, Function& function, int key);
void Replace(int thread, Function& function, int key);
const Implementation* Call(int thread, Function& function, int key, const Resolver& resolver);
// Inserts under a key that nobody has used before: an object that was just made.
void UseFreshKey(int thread, Function& function);
// Makes the function part of a cycle, unless it is: only a collection ends it from then on.
void MakeCycle(Function& function);
// Adds a loop unless there is one for that key.
void AddLoop(Function& function, int key);

// Codes in the history that linearizability::Judge gets with this specification.
enum HistoryCode : std::uint8_t { kGot, kInsertedDefault, kReplaced };
void JudgeHistory(const Program& program);

}  // namespace handoff::cache::cpython
