// Who uses which owner, and what it keeps alive: the oracle for the invariants 4 (what was found once is found ever after), 9
// (what a table leads to outlives it) and 11 (an owner is freed after its last use). Not instrumented, so it orders nothing.
//
// Owners have numbers from 0, given out by the subject; keys those of block.h. All functions but Reset: any thread, at any time.
#pragma once

namespace handoff::cache::watch {

// Each operation makes one owner at most; the cases' own come on top.
inline constexpr int kMaxOwners = 128;
inline constexpr int kMaxKeys = 8;

void Reset();
void UseBegins(int owner);
void UseEnds(int owner);
// Right before the owner is freed. Fails if somebody uses it, or it was freed before.
void Freed(int owner);

// The owner's table is gone.
void TableGone(int owner);
// Right before an implementation of the owner is freed. Fails while the table
// exists, from which a reader may have got it or may be about to.
void ImplementationGone(int owner, int implementation);

// Around a lookup; what LookupBegins returns is passed on. Fails if nothing was found although another lookup had ended with a
// value before this one began.
bool LookupBegins(int owner, int key);
void LookupEnds(int owner, int key, bool found_before, bool found);

}  // namespace handoff::cache::watch
