// The DLPack exchange over the C ABI alone: threads export, consume, re-export, read, share and delete tensors. Runs on fibers.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "harness/subjects/dlpack/handle.h"
#include "harness/subjects/subject.h"

namespace handoff::dlpack {

// Few, so that threads meet.
inline constexpr int kHandles = 3;
inline constexpr int kBoxes = 2;

class Exchange final : public Subject {
 public:
  // Operations, in the order of their codes: append only.
  static const Alphabet& Operations();
  static std::span<const Twin> Twins();
  // `twin` as in Target::make.
  static std::unique_ptr<Subject> Make(int twin);

  void Begin(const Case& c) override;
  void Apply(int thread, Operation operation) override;
  void End() override;

 private:
  void Consume(int thread, Handle& handle, Step fails);
  void Reexport(int thread, Handle& handle, Kind kind);
  void Hold(int thread, Array* array);

  Handle handles_[kHandles];                // any thread, by the functions of handle.h
  std::atomic<Array*> boxes_[kBoxes] = {};  // any thread; each owns a reference
  Array* held_[kMaxThreads] = {};           // each by its thread only; owns a reference
  int threads_ = 0;                         // of the case
};

}  // namespace handoff::dlpack
