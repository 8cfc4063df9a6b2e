#include "harness/subjects/dlpack/handle.h"

#include <atomic>

#include "harness/oracle/ledger.h"
#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"

namespace handoff::dlpack {
namespace {

constexpr char kBusy[] = "";

using Name = std::atomic_ref<const char*>;

bool IsFresh(const char* name) { return name == kLegacyName || name == kVersionedName; }

// Wins the right to touch `tensor` from everybody who saw the same name. Acquire: the name was stored with release by whoever
// touched the tensor last. Relaxed on failure: the loser touches nothing.
bool Claim(Handle& handle, const char* seen) {
  HANDOFF_SYNC_POINT(&handle, "claim handle");
  return Name(handle.name).compare_exchange_strong(seen, kBusy, std::memory_order_acquire, std::memory_order_relaxed);
}

// Ends a claim. Release: our accesses to `tensor` come before those of the next one who claims.
void Settle(Handle& handle, const char* name) {
  HANDOFF_SYNC_POINT(&handle, "name handle");
  Name(handle.name).store(name, std::memory_order_release);
}

// Relaxed: a hint which claim to try; the claim itself decides and orders.
const char* Look(Handle& handle) {
  HANDOFF_SYNC_POINT(&handle, "look at name");
  return Name(handle.name).load(std::memory_order_relaxed);
}

// The check and the rename as two steps, as numpy and torch do it with a capsule.
Taken CheckThenRename(Handle& handle) {
  HANDOFF_SYNC_POINT(&handle, "check name");
  const char* name = handle.name;
  if (!IsFresh(name)) return {};
  void* tensor = handle.tensor;
  HANDOFF_SYNC_POINT(&handle, "rename");
  handle.name = UsedName(name);
  ledger::Consumed(tensor);
  return {name, tensor};
}

void CallDeleterByName(const char* name, void* tensor) {
  if (name == kLegacyName || name == kUsedLegacyName) {
    CallDeleter(static_cast<DLManagedTensor*>(tensor));
  } else {
    CallDeleter(static_cast<DLManagedTensorVersioned*>(tensor));
  }
}

// A consumer that failed before it looked at the struct has nothing to import.
template <typename Managed>
Array* ImportOrRefuse(Managed* tensor, int number, Step fails) {
  if (fails != Step::kClaimed) return Import(tensor, number, fails);
  Refuse(tensor, number);
  return nullptr;
}

}  // namespace

bool Publish(Handle& handle, const char* name, void* tensor) {
  if (!Claim(handle, nullptr)) return false;
  handle.tensor = tensor;
  ledger::Travels(ledger::NumberOf(tensor), ledger::Way::kHandle);
  if (Has(Defect::kRelaxedPublish)) {
    HANDOFF_SYNC_POINT(&handle, "name handle");
    Name(handle.name).store(name, std::memory_order_relaxed);
  } else {
    Settle(handle, name);
  }
  return true;
}

Taken Take(Handle& handle, Step fails) {
  if (Has(Defect::kCheckThenRename)) return CheckThenRename(handle);
  const char* name = Look(handle);
  if (!IsFresh(name) || !Claim(handle, name)) return {};  // R9: a used tensor is not taken again
  void* tensor = handle.tensor;
  ledger::Consumed(tensor);
  // Renamed before anything that can fail, so that there is no moment in which both sides own the tensor.
  const bool leave = fails == Step::kClaimed && Has(Defect::kRenameAfterFailureWindow);
  Settle(handle, leave ? name : UsedName(name));
  return {name, tensor};
}

void DropHandle(Handle& handle) {
  const char* name = Look(handle);
  if (name == nullptr || name == kBusy || !Claim(handle, name)) return;  // empty, or somebody else's work is under way
  void* tensor = handle.tensor;
  Settle(handle, nullptr);
  // The deleter comes last: it may run for long, and whoever wants the slot need not wait for it.
  if (IsFresh(name) && !Has(Defect::kDropWithoutDelete)) DeleteUntaken(name, tensor);
  if (!IsFresh(name) && Has(Defect::kDropIgnoresName)) DeleteUntaken(name, tensor);
}

const char* UsedName(const char* fresh) { return fresh == kLegacyName ? kUsedLegacyName : kUsedVersionedName; }

Array* ImportTaken(const Taken& taken, Step fails) {
  if (taken.name == nullptr) return nullptr;
  const int number = ledger::NumberOf(taken.tensor);
  if (taken.name == kLegacyName) return ImportOrRefuse(static_cast<DLManagedTensor*>(taken.tensor), number, fails);
  return ImportOrRefuse(static_cast<DLManagedTensorVersioned*>(taken.tensor), number, fails);
}

void DeleteUntaken(const char* name, void* tensor) {
  ledger::Released(ledger::NumberOf(tensor), ledger::Owner::kHandle);
  CallDeleterByName(name, tensor);
}

}  // namespace handoff::dlpack
