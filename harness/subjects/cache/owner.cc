#include "harness/subjects/cache/owner.h"

#include <utility>

#include "harness/schedule/point.h"
#include "harness/subjects/cache/attached_table.h"
#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/key_objects.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache {
namespace {

DispatchTable* NewTable(int number, Form form, Locks& locks) {
  if (form == Form::kLocked) return new LockedTable(number, locks);
  if (form == Form::kShared) return new SharedTable(number, locks);
  if (form == Form::kDetached) return new DetachedTable(number, locks);
  if (form == Form::kCriticalSection) return new SectionTable(number, locks);
  return new LockFreeTable(number, locks);
}

void FreeOwner(Owner* owner) {
  watch::Freed(owner->number);
  owner->table->Check();
  Free(owner->table);
  watch::TableGone(owner->number);
  for (const Implementation* i = owner->implementations.load(std::memory_order_relaxed); i != nullptr;) {
    watch::ImplementationGone(owner->number, i->number);
    if (!Has(Defect::kKeysNotKept)) key_objects::Release(i->key);
    delete std::exchange(i, i->next);
  }
  delete owner;
}

}  // namespace

Owner* NewOwner(int number, Form form, Locks& locks) {
  auto* owner = new Owner;
  owner->form = form;
  owner->number = number;
  owner->table = NewTable(number, form, locks);
  return owner;
}

Owner* Retain(Owner* owner) {
  // Relaxed: the reference that the caller has keeps the owner alive.
  owner->references.fetch_add(1, std::memory_order_relaxed);
  return owner;
}

void Release(Owner* owner) {
  HANDOFF_SYNC_POINT(owner->table->locks, "drop owner");
  // Release: our uses come before the free. Acquire: so do those of all who dropped theirs before us.
  const bool last = owner->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (last && Has(Defect::kLastDropKeepsOwner)) return;
  if (last || Has(Defect::kDropFreesOwnerInUse)) FreeOwner(owner);
}

const Implementation* NewImplementation(Owner& owner, int key, int number) {
  if (!Has(Defect::kKeysNotKept)) key_objects::Retain(key);
  auto* made = new Implementation{number, key, owner.implementations.load(std::memory_order_relaxed), key_objects::Current(key)};
  // Relaxed: nobody follows the list before the last reference is gone, and that orders everything. A stronger order would make
  // edges between threads which the table has to make by itself.
  while (!owner.implementations.compare_exchange_weak(made->next, made, std::memory_order_relaxed)) {
  }
  return made;
}

}  // namespace handoff::cache
