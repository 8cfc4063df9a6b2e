// The count-driven slot's side in a modelled interpreter (runtime.h).
#pragma once

#include <mutex>
#include <optional>

#include "harness/subjects/interpreter/count_slot.h"
#include "harness/subjects/interpreter/free_list.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct ModelNative : CountNative {
  using CountNative::CountNative;
  std::mutex pin;  // keeps the wrapper in the slot from being freed, where memory is given back
};

struct ModelWrapper : Object {
  ModelWrapper(Runtime& runtime, CountNative* of, int wrapper_number);
  // In the memory of one that was freed. One reference, the caller's.
  void MakeAnew(CountNative* of, int wrapper_number);
  ModelNative* native;  // owns a strong reference; never changed while there are references
  int number;           // the watch's; likewise
};

// What becomes of a wrapper's memory.
enum class Memory : std::uint8_t {
  kFreed,   // given back: whoever looks at a wrapper without a reference keeps it from going (ModelNative::pin)
  kReused,  // for the next wrapper: whoever took a reference by chance asks afterwards whether it is the one that he meant
};

class ModelSide final : public Side {
 public:
  // `runtime` is borrowed, from one execution's beginning to its end.
  void Begin(Runtime& runtime, Memory memory) {
    runtime_ = &runtime;
    memory_ = memory;
  }
  // The execution's end: no wrapper is left.
  void End() { freed_.Clear(); }

  bool Enter(int thread, Before& before) override;
  void Leave(int thread, const Before& before) override;
  void* NewWrapper(int thread, CountNative* native) override;
  void Incref(int thread, void* wrapper) override;
  void Decref(int thread, void* wrapper) override;
  void Published(int /*thread*/, CountNative& /*native*/, void* /*wrapper*/) override {}
  bool TryTake(int thread, CountNative& native) override;
  int Number(const void* wrapper) const override;
  void Free(CountNative* native) override;

 private:
  static void DeallocWrapper(int thread, Object* object);
  void FreeWrapper(int thread, ModelWrapper* wrapper);

  Runtime* runtime_ = nullptr;
  Memory memory_ = Memory::kFreed;
  FreeList<ModelWrapper> freed_;  // empty unless memory is reused

  friend struct ModelWrapper;
};

}  // namespace handoff::interpreter
