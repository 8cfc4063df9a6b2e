// Native caches as threads of a library without a global lock share them. Runs on fibers.
//
// There is one owner with a dispatch table for each form of table. Every thread begins with a reference to each; after `drop` its
// next operation joins the newest owner of the form, or makes one if it has had that. References are never taken or given back in
// between, for that would order the threads and hide what a table forgets to order.
//
// Threads are detached between operations. They attach to a modelled interpreter without a GIL for tables of the forms that need
// one, for buffers, to collect, and in callbacks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "harness/subjects/cache/buffer_records.h"
#include "harness/subjects/cache/critical_section.h"
#include "harness/subjects/cache/operations.h"
#include "harness/subjects/cache/owner.h"
#include "harness/subjects/cache/program.h"
#include "harness/subjects/cache/small_caches.h"
#include "harness/subjects/interpreter/runtime.h"
#include "harness/subjects/subject.h"

namespace handoff::cache {

class NativeCache final : public Subject {
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
  // The newest owner of a form.
  struct Newest {
    std::mutex mutex;
    Owner* owner = nullptr;  // guarded by mutex; owns a reference
  };

  void ApplyToOwner(int thread, const Operation& operation);
  void ApplyToTable(int thread, const Operation& operation);
  void ApplyToArray(int thread, const Operation& operation);
  void ApplyToSmall(int thread, const Operation& operation);
  Owner* NewOwnerOf(Form form);
  Owner& OwnerOf(int thread, Form form);
  Owner* Join(int thread, Form form);

  const Implementation* Make(Owner& owner, int key);
  void CallBack(int thread, Resolver resolver);
  const Implementation* Allocate(int thread, Owner& owner, int key, Resolver resolver);
  void Collect(int thread);
  const Implementation* Resolve(int thread, Owner& owner, int key, int needs, Resolver resolver);
  const Implementation* Miss(int thread, Owner& owner, int key, int needs, Resolver resolver);
  void Replace(int thread, Owner& owner, int key);
  void UseShortLived(int thread, Form form, int key);

  Program program_{Operations()};
  Sections sections_;
  std::optional<interpreter::Runtime> runtime_;  // from Begin to End
  std::unique_ptr<BufferArrays> arrays_;         // from Begin to End
  std::unique_ptr<Locks[]> locks_;               // from Begin to End; one for each owner there can be
  std::atomic<int> next_owner_ = 0;
  std::atomic<int> next_implementation_ = 1;
  std::unique_ptr<SmallCaches> small_;     // from Begin to End
  std::unique_ptr<Newest[]> newest_;       // from Begin to End, by form
  Owner* held_[kMaxThreads][kForms] = {};  // each row by its thread only; owns references
  int had_[kMaxThreads][kForms] = {};      // the number of the last one held
};

}  // namespace handoff::cache
