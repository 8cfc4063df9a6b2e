// Threads wrap, unwrap, copy, drop and lock native objects whose wrappers live in an interpreter, by three designs: the
// interpreter tag with its flip of ownership (two interpreters, each with a GIL), the count-driven slot with a GIL, without one,
// and without one where freed wrappers' memory is used for the next ones, and the tied word. Runs on fibers, in a modelled
// interpreter (runtime.h).
//
// In a real CPython there are only the count-driven slot and a lookup as in a map of wrappers (python_slot.h). The others are in
// the model alone, each for a reason:
//
//   tag, flip, resurrection, disarming, hermetic mode   A GIL guards them (T2, T6). Our CPython has none, so that there they are
//                   wrong by design, which `without_gil` shows. What a tag refuses to another interpreter is in
//                   reference_release_python, with a lock in the GIL's place.
//   tied word       Its wrappers' blocks outlive their dealloc and are made objects again in place: that takes functions of
//                   CPython that are private in 3.13, and the project that had the idea does not run it yet.
//   used memory     A look at the count of a freed object is what CPython allows itself, and nobody else: there is no way to ask
//                   for memory that stays of one type, and AddressSanitizer reports the look.
//
// Of each design there is one native object at the start, which every thread holds, strongly and, where there is such a thing,
// weakly.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "harness/subjects/interpreter/count_slot.h"
#include "harness/subjects/interpreter/model_side.h"
#include "harness/subjects/interpreter/tag_slot.h"
#include "harness/subjects/interpreter/tied_word.h"
#include "harness/subjects/subject.h"

namespace handoff::interpreter {

class ObjectSlot final : public Subject {
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
  static constexpr int kInterpreters = 2;
  static constexpr int kCountModes = 3;

  // What a thread holds of one design; used by that thread only, each field owns a reference.
  struct TagHeld {
    TagNative* native = nullptr;
    TagWrapper* wrapper = nullptr;
  };
  struct CountHeld {
    CountNative* native = nullptr;
    CountNative* weak = nullptr;
    ModelWrapper* wrapper = nullptr;
  };
  struct TiedHeld {
    TiedNative* native = nullptr;
    TiedWrapper* wrapper = nullptr;
  };
  // What lies about for any thread to take; each owns a reference.
  struct Boxes {
    std::atomic<TiedNative*> tied_native{nullptr};
    std::atomic<TiedWrapper*> tied_wrapper{nullptr};
    std::atomic<TagNative*> tag_native{nullptr};
    std::atomic<CountNative*> count_native[kCountModes] = {};
    std::atomic<ModelWrapper*> count_wrapper[kCountModes] = {};
    std::atomic<TagWrapper*> tag_wrapper[kInterpreters] = {};
  };

  void ApplyToTag(int thread, const Operation& operation);
  void ApplyToTied(int thread, const Operation& operation);
  void ApplyToCount(int thread, int mode, const Operation& operation);
  void Discard(int thread, int design);
  void CollectAll();
  void WrapTag(int thread, Tag& tag, bool hermetic, bool fresh);
  void WrapCount(int thread, int mode, bool moved);
  static void DropTagWrapper(int thread, TagWrapper* wrapper);
  static void DropTiedWrapper(int thread, TiedWrapper* wrapper);
  static void DropCountWrapper(int thread, ModelWrapper* wrapper);

  int threads_ = 0;                         // of the case
  std::optional<Tag> tags_[kInterpreters];  // from Begin to End
  std::optional<Runtime>
      runtimes_[kCountModes];  // from Begin to End; 0 has a GIL, 1 is free-threaded, 2 too and uses wrappers' memory again
  ModelSide sides_[kCountModes];
  TagHeld tag_held_[kMaxThreads];
  std::optional<Runtime> tied_runtime_;  // from Begin to End; free-threaded
  TiedHeld tied_held_[kMaxThreads];
  CountHeld count_held_[kMaxThreads][kCountModes];
  Boxes boxes_;
  std::atomic<bool> disarmed_[kInterpreters] = {};  // each tag is disarmed once
};

}  // namespace handoff::interpreter
