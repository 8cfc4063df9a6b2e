// The linearizability check: whether what concurrent calls answered is what a map used by one thread could have answered.
//
// A history is linearizable if each call can be given one moment between its start and its end so that the calls, carried out one
// by one in that order, answer what they answered (Herlihy and Wing, 1990). The search is that of Wing and Gong (1993) with the
// memory of Lowe (2017): which calls are carried out, and the state they lead to, is never tried twice. A map is as many
// independent objects as it has keys, and a history is linearizable if and only if each object's is (locality), so every key is
// checked by itself.
//
// Compiled without sanitizers and weak symbols, like the ledger: recording orders nothing and hides no race. There is one history
// a process. `OperationBegins`, `Called` and `Returned` are for any thread at any time; the others for the driver, while nobody
// calls.
#pragma once

namespace handoff::linearizability {

// Two calls on the same key for each operation of a case.
inline constexpr int kMaxCallsOfKey = 128;
inline constexpr int kMaxCalls = 512;

// Of a program, and those that they create.
inline constexpr int kMaxCallers = 16;

// How verdicts speak of an operation and its answers. Literals.
struct Words {
  const char* name;
  // The answers 0 and 1, where these are all that there are. Otherwise an answer is a value, or 0 for none.
  const char* no = nullptr;
  const char* yes = nullptr;
};

// The sequential object that one key of a map is, as plain functions. States, arguments and results are the subject's own small
// numbers: 0 for none, the others for values. An argument is a value that the call offers, best one that no other call offers:
// verdicts name a value after the operation of the program that offered it.
struct Specification {
  int initial;  // the state of a key nobody has used
  // Carries out a call and returns what it must answer.
  int (*apply)(int* state, int operation, int argument);
  // The invariant that such an answer breaks when no order explains it; a literal. For the verdict.
  const char* (*rule)(int operation, int result);
  // By operation.
  const Words* operations;
  // What tells the key's map from others that the operation might mean: " of a table made during the run,", or "". A literal.
  const char* (*place)(int map);
};

// The program whose operations make the calls. `print` writes operation `number` (from 0) of a thread, as it stands in a text
// case, and ends it with a zero.
struct Program {
  const void* self;  // for `print`
  void (*print)(const void* self, int thread, int number, char* text, int size);
};

// Forgets the history. Before each execution.
void Reset();

// On a thread of the program, right before each of its operations: the calls from then on are part of it.
void OperationBegins(int thread);

// Right before a call begins, and with its number right after it has ended. A map that is made anew needs a number of its own.
int Called(int thread, int map, int key, int operation, int argument);
void Returned(int call, int result);

// Fails with the kind "linearizability" if the history of some key cannot be explained. The verdict names the first call, by the
// time of its end, whose answer no order explains, and says which answers would have been right; calls still open at that time
// may have answered anything.
void Judge(const Specification& specification, const Program& program);

}  // namespace handoff::linearizability
