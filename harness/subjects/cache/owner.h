// An owner: what has a dispatch table, say a universal function. It keeps alive whatever its table points to.
//
// A reference count says when it may go; until then every implementation ever made for its table lives, replaced ones too, so
// readers need no protection of their own, and so does the object of every key (invariant 9).
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/subjects/cache/dispatch_table.h"

namespace handoff::cache {

// The last two are used by attached threads.
enum class Form : std::uint8_t { kLocked, kShared, kLockFree, kDetached, kCriticalSection };
inline constexpr int kForms = 5;
constexpr bool IsAttached(Form form) { return form >= Form::kDetached; }

struct Owner {
  Form form = Form::kLocked;
  int number = 0;                                                // from 0, unique in an execution; the map's number in verdicts
  DispatchTable* table = nullptr;                                // owned
  std::atomic<const Implementation*> implementations = nullptr;  // owned, a list that only grows until the owner is freed
  std::atomic<int> references = 1;
};

// The caller owns the one reference. `locks` outlives the owner.
Owner* NewOwner(int number, Form form, Locks& locks);
// Whoever has a reference may make another.
Owner* Retain(Owner* owner);
// Drops a reference; the last one frees the owner, its table and its implementations, after checking the table's structure.
void Release(Owner* owner);

// An implementation that the owner keeps alive, with the object of its key. Needs a reference to the owner and to that object.
const Implementation* NewImplementation(Owner& owner, int key, int number);

}  // namespace handoff::cache
