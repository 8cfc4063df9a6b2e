// The ledger of the caches inside CPython: which objects are alive, and which loops were added.
//
// Reference counts say nothing here: CPython merges them late, and LeakSanitizer does not know its heap. So each object of ours
// reports that it was made and that it is gone. Not instrumented, so it orders nothing. Functions but Reset, Outstanding and
// Judge: any thread, at any time.
#pragma once

#include <cstdint>

namespace handoff::cache::cpython::watch {

enum class Kind : std::uint8_t { kFunction, kValue, kRecord };

// An operation makes six objects at most, a case has 64 operations and three functions to begin with.
inline constexpr int kMaxObjects = 512;

void Reset();

// Returns the object's number, from 1, unique in an execution.
int Made(Kind kind);
// The table of function `function` was offered the value, and may lead to it as long as the function exists.
void Offered(int value, int function);
// It is freed. Fails if it was already, or if a table may lead to it (invariant 9).
void Gone(int number);
// A cache answers with it. Fails if it is freed (invariant 9).
void Used(int number);

// A thread was told that its loop is now the function's loop for that key. Fails the second time: the first one was told so, too.
void LoopAdded(int function, int key);

// Whether an object is left.
bool Outstanding();
// At the end, when everything was dropped: fails if an object is left.
void Judge();

}  // namespace handoff::cache::cpython::watch
