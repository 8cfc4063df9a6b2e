// Who uses which owner: the oracle for invariant 11, an owner is freed after its last use. Not instrumented, so it orders
// nothing.
//
// Owners have numbers from 0, given out by the subject. All functions but Reset: any thread, at any time.
#pragma once

namespace handoff::cache::watch {

// Each operation makes one owner at most; the cases' own come on top.
inline constexpr int kMaxOwners = 128;

void Reset();
void UseBegins(int owner);
void UseEnds(int owner);
// Right before the owner is freed. Fails if somebody uses it, or it was freed before.
void Freed(int owner);

}  // namespace handoff::cache::watch
