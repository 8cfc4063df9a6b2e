#include "harness/subjects/interpreter/model_side.h"

#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

ModelWrapper* Cast(void* wrapper) { return static_cast<ModelWrapper*>(wrapper); }

bool TryTakePinned(int thread, ModelNative& native) {
  std::unique_lock<std::mutex> pin;
  if (!Has(Defect::kTryIncrefUnpinned)) pin = std::unique_lock(native.pin);
  HANDOFF_SYNC_POINT(watch::NativeToken(native.number), "load slot");
  ModelWrapper* wrapper = Cast(native.slot.load(std::memory_order_acquire));
  if (wrapper == nullptr) return false;
  if (!Has(Defect::kIncrefForTryIncref)) return TryIncref(thread, wrapper);
  interpreter::Incref(thread, wrapper);
  return true;
}

// As CPython's readers without a lock do it (PEP 703, "Optimistic avoidance of locking"): between the load and the incref the
// wrapper may have gone, and another one, of whatever native object, may lie in its place.
bool TryTakeChecked(int thread, ModelNative& native) {
  const void* token = watch::NativeToken(native.number);
  for (;;) {
    HANDOFF_SYNC_POINT(token, "load slot");
    ModelWrapper* wrapper = Cast(native.slot.load(std::memory_order_acquire));
    if (wrapper == nullptr || !TryIncref(thread, wrapper)) return false;
    HANDOFF_SYNC_POINT(token, "load slot again");
    if (Has(Defect::kSlotNotLoadedAgain) || native.slot.load(std::memory_order_acquire) == wrapper) {
      watch::WrapperTaken(native.number, wrapper->number);
      return true;
    }
    interpreter::Decref(thread, wrapper);
  }
}

}  // namespace

ModelWrapper::ModelWrapper(Runtime& runtime, CountNative* of, int wrapper_number)
    : Object(runtime, ModelSide::DeallocWrapper, watch::WrapperToken(wrapper_number)),
      native(static_cast<ModelNative*>(of)),
      number(wrapper_number) {}

void ModelWrapper::MakeAnew(CountNative* of, int wrapper_number) {
  native = static_cast<ModelNative*>(of);
  number = wrapper_number;
  // Release: whoever takes a reference by what he remembers of the memory sees the wrapper that is in it now.
  references.store(1, std::memory_order_release);
}

void ModelSide::DeallocWrapper(int thread, Object* object) {
  auto* wrapper = static_cast<ModelWrapper*>(object);
  ModelNative* native = wrapper->native;
  const void* token = watch::NativeToken(native->number);
  HANDOFF_SYNC_POINT(token, "load slot");
  if (native->slot.load(std::memory_order_relaxed) == wrapper) {
    count::CheckDealloc(*native, wrapper->number);
    if (!Has(Defect::kSlotNotCleared)) {
      // Whoever has the pin and sees the wrapper may still look at its count; nobody sees it afterwards.
      const std::scoped_lock pin(native->pin);
      HANDOFF_SYNC_POINT(token, "clear slot");
      native->slot.store(nullptr, std::memory_order_relaxed);
      watch::WrapperWithdrawn(wrapper->number);
    }
  }
  watch::WrapperGone(wrapper->number);
  static_cast<ModelSide&>(native->side).FreeWrapper(thread, wrapper);
  // Last, and detached: it may be the native object's end, which may wait for anything.
  const Detached detached(thread);
  count::Drop(thread, native);
}

void ModelSide::FreeWrapper(int thread, ModelWrapper* wrapper) {
  if (memory_ == Memory::kReused) {
    freed_.Give(thread, wrapper);
  } else {
    delete wrapper;
  }
}

// What Attached does, in two parts.
bool ModelSide::Enter(int thread, Before& before) {
  Runtime* current = Current(thread);
  before.interpreter = current;
  if (current == runtime_) return before.attached = true;
  if (current != nullptr) current->Detach(thread);
  return before.attached = runtime_->Attach(thread);
}

void ModelSide::Leave(int thread, const Before& before) {
  auto* current = static_cast<Runtime*>(before.interpreter);
  if (current == runtime_) return;
  if (Current(thread) == runtime_) runtime_->Detach(thread);
  if (current != nullptr && !current->Attach(thread)) return;  // that one has ended: the thread stays detached
}

void* ModelSide::NewWrapper(int thread, CountNative* native) {
  runtime_->BeforeAllocation(thread);
  const int number = watch::WrapperMade(native->number);
  ModelWrapper* again = freed_.Take(thread);
  if (again == nullptr) return new ModelWrapper(*runtime_, native, number);
  again->MakeAnew(native, number);
  return again;
}

void ModelSide::Incref(int thread, void* wrapper) { interpreter::Incref(thread, Cast(wrapper)); }
void ModelSide::Decref(int thread, void* wrapper) { interpreter::Decref(thread, Cast(wrapper)); }

bool ModelSide::TryTake(int thread, CountNative& native) {
  auto& of = static_cast<ModelNative&>(native);
  return memory_ == Memory::kReused ? TryTakeChecked(thread, of) : TryTakePinned(thread, of);
}

int ModelSide::Number(const void* wrapper) const { return static_cast<const ModelWrapper*>(wrapper)->number; }
void ModelSide::Free(CountNative* native) { delete static_cast<ModelNative*>(native); }

}  // namespace handoff::interpreter
