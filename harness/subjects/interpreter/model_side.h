// The count-driven slot's side in a modelled interpreter (runtime.h).
#pragma once

#include <mutex>
#include <optional>

#include "harness/subjects/interpreter/count_slot.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct ModelNative : CountNative {
  using CountNative::CountNative;
  std::mutex pin;  // keeps the wrapper in the slot from being freed
};

struct ModelWrapper : Object {
  ModelWrapper(Runtime& runtime, CountNative* of, int wrapper_number);
  ModelNative* const native;  // owns a strong reference
  const int number;           // the watch's
};

class ModelSide final : public Side {
 public:
  // `runtime` is borrowed, from one execution's beginning to its end.
  void Begin(Runtime& runtime) { runtime_ = &runtime; }

  bool Enter(int thread, Before& before) override;
  void Leave(int thread, const Before& before) override;
  void* NewWrapper(CountNative* native) override;
  void Incref(int thread, void* wrapper) override;
  void Decref(int thread, void* wrapper) override;
  void Published(int /*thread*/, CountNative& /*native*/, void* /*wrapper*/) override {}
  bool TryTake(int thread, CountNative& native) override;
  int Number(const void* wrapper) const override;
  void Free(CountNative* native) override;

 private:
  Runtime* runtime_ = nullptr;
};

}  // namespace handoff::interpreter
