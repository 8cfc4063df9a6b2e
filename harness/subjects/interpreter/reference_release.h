// Threads release references to objects of two interpreters, one with a GIL and one free-threaded, in every safe way of
// release.h: detached, attached, attached to the other one, with a native lock in the hand, while an interpreter ends and after
// it has begun again. Runs on fibers, in a modelled interpreter (runtime.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "harness/subjects/interpreter/release.h"
#include "harness/subjects/interpreter/static_local.h"
#include "harness/subjects/interpreter/work.h"
#include "harness/subjects/subject.h"

namespace handoff::interpreter {

class ReferenceRelease final : public Subject {
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
  static constexpr int kHosts = 2;

  void MakePayload(int thread, Host& host, bool nested);
  static void Release(int thread, Payload* payload, int way);
  void ReleaseIn(int thread, Payload* payload, int way, int state);
  void Enter(int thread, Host& host);
  void Join(int thread, int other);
  void Once(int thread, Host& host);
  void UseStatic(int thread, Host& host);

  int threads_ = 0;                    // of the case
  std::optional<Host> hosts_[kHosts];  // from Begin to End
  std::optional<Mutex> native_lock_;   // from Begin to End; of a native library
  std::optional<std::once_flag> once_[kHosts];
  int once_nodes_[kHosts] = {};                      // of the lock order
  std::optional<StaticLocal> static_local_[kHosts];  // from Begin to End
  bool static_value_[kHosts] = {};                   // plain: guarded by that one
  std::optional<Work> work_[kMaxThreads];            // from Begin to End
  Payload* held_[kMaxThreads] = {};                  // each by its thread only; owns a reference
  std::atomic<Payload*> box_{nullptr};               // any thread; owns a reference
};

}  // namespace handoff::interpreter
