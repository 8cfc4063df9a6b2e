#include "harness/subjects/interpreter/object_slot.h"

#include <utility>

#include "harness/oracle/lock_order.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/slot_operations.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

using namespace slot;  // codes and values of operations

// Of the count-driven slot.
constexpr int kReusing = 2;
int CountMode(int design) { return design == kCountReuse ? kReusing : design - kCountGil; }

// Acquire and release: what lies in a box was used by whoever put it there, and will be by whoever takes it.
template <typename T>
T* Swap(std::atomic<T*>& box, T* object) {
  HANDOFF_SYNC_POINT(&box, "swap box");
  return box.exchange(object, std::memory_order_acq_rel);
}

}  // namespace

const Alphabet& ObjectSlot::Operations() { return slot::Operations(); }
std::span<const Twin> ObjectSlot::Twins() { return slot::Twins(); }

std::unique_ptr<Subject> ObjectSlot::Make(int twin) {
  Install(slot::DefectOf(twin));
  return std::make_unique<ObjectSlot>();
}

void ObjectSlot::Begin(const Case& c) {
  threads_ = static_cast<int>(c.threads.size());
  watch::Reset();
  lock_order::Reset();
  ForgetThreads();
  for (int i = 0; i < kInterpreters; ++i) {
    tags_[i].emplace(Has(Defect::kWithoutGil) ? Mode::kFreeThreaded : Mode::kGil, i);
    disarmed_[i].store(false, std::memory_order_relaxed);
  }
  TagNative* native = tag::New();
  for (int t = 0; t < threads_; ++t) tag_held_[t].native = t == 0 ? native : tag::Copy(native);
  tied_runtime_.emplace(Mode::kFreeThreaded, kInterpreters + kCountModes);
  auto* tied_native = new TiedNative(*tied_runtime_);
  for (int t = 0; t < threads_; ++t) tied_held_[t].native = t == 0 ? tied_native : tied::Copy(tied_native);
  for (int mode = 0; mode < kCountModes; ++mode) {
    runtimes_[mode].emplace(mode == 0 ? Mode::kGil : Mode::kFreeThreaded, kInterpreters + mode);
    sides_[mode].Begin(*runtimes_[mode], mode == kReusing ? Memory::kReused : Memory::kFreed);
    CountNative* counted = new ModelNative(sides_[mode]);
    for (int t = 0; t < threads_; ++t) {
      count_held_[t][mode].native = t == 0 ? counted : count::Copy(t, counted);
      count::CopyWeak(counted);
      count_held_[t][mode].weak = counted;
    }
  }
}

void ObjectSlot::DropTagWrapper(int thread, TagWrapper* wrapper) {
  if (wrapper == nullptr) return;
  const Attached attached(thread, wrapper->tag->runtime());
  Decref(thread, wrapper);
}

void ObjectSlot::DropTiedWrapper(int thread, TiedWrapper* wrapper) {
  if (wrapper == nullptr) return;
  const Attached attached(thread, *wrapper->home);
  Decref(thread, wrapper);
}

void ObjectSlot::DropCountWrapper(int thread, ModelWrapper* wrapper) {
  if (wrapper == nullptr) return;
  const Attached attached(thread, *wrapper->home);
  Decref(thread, wrapper);
}

// A thread holds one wrapper at a time: the old one goes first.
void ObjectSlot::WrapTag(int thread, Tag& tag, bool hermetic, bool fresh) {
  TagHeld& held = tag_held_[thread];
  if (held.native == nullptr) return;
  DropTagWrapper(thread, std::exchange(held.wrapper, nullptr));
  const Attached attached(thread, tag.runtime());
  held.wrapper = tag::Wrap(thread, tag, held.native, hermetic, fresh);
  if (hermetic && held.wrapper != nullptr) watch::HermeticReturned(held.native->number, held.wrapper->number);
}

void ObjectSlot::WrapCount(int thread, int mode, bool moved) {
  CountHeld& held = count_held_[thread][mode];
  if (held.native == nullptr) return;
  DropCountWrapper(thread, std::exchange(held.wrapper, nullptr));
  const Attached attached(thread, *runtimes_[mode]);
  held.wrapper = static_cast<ModelWrapper*>(count::Wrap(thread, held.native, moved));
  if (moved) held.native = nullptr;
}

void ObjectSlot::ApplyToTag(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  TagHeld& held = tag_held_[thread];
  switch (operation.code) {
    case kNew:
      if (TagNative* old = std::exchange(held.native, tag::New()); old != nullptr) tag::Drop(thread, old);
      WrapTag(thread, *tags_[a[1]], false, true);
      break;
    case kWrap:
      WrapTag(thread, *tags_[a[2]], a[1] == kHermetic, false);
      break;
    case kUnwrap:
      if (held.wrapper != nullptr) {
        TagNative* native = nullptr;
        {
          const Attached attached(thread, held.wrapper->tag->runtime());
          native = tag::Unwrap(held.wrapper);
        }
        if (TagNative* old = std::exchange(held.native, native); old != nullptr) tag::Drop(thread, old);
      }
      break;
    case kCopy:
      if (held.native != nullptr) tag::Drop(thread, tag::Copy(held.native));
      break;
    case kDrop:
      // Attached to whichever interpreter: it need not be the wrapper's.
      if (TagNative* old = std::exchange(held.native, nullptr); old != nullptr) {
        if (a[1] == 0) {
          tag::Drop(thread, old);
        } else {
          const Attached attached(thread, tags_[1]->runtime());
          tag::Drop(thread, old);
        }
      }
      break;
    case kDropWrapper:
      DropTagWrapper(thread, std::exchange(held.wrapper, nullptr));
      break;
    case kGive:
      if (held.native == nullptr) break;
      if (TagNative* old = Swap(boxes_.tag_native, std::exchange(held.native, nullptr)); old != nullptr) tag::Drop(thread, old);
      break;
    case kTake:
      if (auto* taken = Swap<TagNative>(boxes_.tag_native, nullptr); taken != nullptr) {
        if (TagNative* old = std::exchange(held.native, taken); old != nullptr) tag::Drop(thread, old);
      }
      break;
    case kPass: {
      if (held.wrapper == nullptr) break;
      // Chosen first: arguments are evaluated in any order.
      auto& box = boxes_.tag_wrapper[held.wrapper->tag->number()];
      DropTagWrapper(thread, Swap(box, std::exchange(held.wrapper, nullptr)));
      break;
    }
    case kReceive:
      if (auto* taken = Swap<TagWrapper>(boxes_.tag_wrapper[a[1]], nullptr); taken != nullptr)
        DropTagWrapper(thread, std::exchange(held.wrapper, taken));
      break;
    case kCollect: {
      const Attached attached(thread, tags_[a[1]]->runtime());
      tags_[a[1]]->runtime().Collect(thread);
      break;
    }
    default:  // no weak references in this design
      break;
  }
}

void ObjectSlot::ApplyToCount(int thread, int mode, const Operation& operation) {
  CountHeld& held = count_held_[thread][mode];
  switch (operation.code) {
    case kNew:
      if (CountNative* old = std::exchange(held.native, new ModelNative(sides_[mode])); old != nullptr) count::Drop(thread, old);
      break;
    case kWrap:
      WrapCount(thread, mode, operation.arguments[1] == kMoved);
      break;
    case kUnwrap:
      if (held.wrapper != nullptr) {
        CountNative* native = nullptr;
        {
          const Attached attached(thread, *runtimes_[mode]);
          native = count::Copy(thread, held.wrapper->native);
        }
        if (CountNative* old = std::exchange(held.native, native); old != nullptr) count::Drop(thread, old);
      }
      break;
    case kCopy:
      if (held.native != nullptr) count::Drop(thread, count::Copy(thread, held.native));
      break;
    case kDrop:
      if (CountNative* old = std::exchange(held.native, nullptr); old != nullptr) count::Drop(thread, old);
      break;
    case kDropWrapper:
      DropCountWrapper(thread, std::exchange(held.wrapper, nullptr));
      break;
    case kWeak:
      if (held.native == nullptr) break;
      count::CopyWeak(held.native);
      if (CountNative* old = std::exchange(held.weak, held.native); old != nullptr) count::DropWeak(old);
      break;
    case kLock: {
      const bool held_strongly = held.native != nullptr && held.native == held.weak;
      CountNative* locked = held.weak == nullptr ? nullptr : count::Lock(thread, held.weak);
      if (locked == nullptr) {
        if (held_strongly) watch::WronglyExpired(held.weak->number);
        break;
      }
      if (CountNative* old = std::exchange(held.native, locked); old != nullptr) count::Drop(thread, old);
      break;
    }
    case kGive:
      if (held.native == nullptr) break;
      if (CountNative* old = Swap(boxes_.count_native[mode], std::exchange(held.native, nullptr)); old != nullptr)
        count::Drop(thread, old);
      break;
    case kTake:
      if (auto* taken = Swap<CountNative>(boxes_.count_native[mode], nullptr); taken != nullptr) {
        if (CountNative* old = std::exchange(held.native, taken); old != nullptr) count::Drop(thread, old);
      }
      break;
    case kPass:
      if (held.wrapper == nullptr) break;
      DropCountWrapper(thread, Swap(boxes_.count_wrapper[mode], std::exchange(held.wrapper, nullptr)));
      break;
    case kReceive:
      if (auto* taken = Swap<ModelWrapper>(boxes_.count_wrapper[mode], nullptr); taken != nullptr)
        DropCountWrapper(thread, std::exchange(held.wrapper, taken));
      break;
    case kCollect: {
      const Attached attached(thread, *runtimes_[mode]);
      runtimes_[mode]->Collect(thread);
      break;
    }
    default:
      break;
  }
}

void ObjectSlot::ApplyToTied(int thread, const Operation& operation) {
  TiedHeld& held = tied_held_[thread];
  const auto keep = [&](TiedNative* native) {
    if (TiedNative* old = std::exchange(held.native, native); old != nullptr) tied::Drop(thread, old);
  };
  switch (operation.code) {
    case kNew:
      keep(new TiedNative(*tied_runtime_));
      break;
    case kWrap: {
      if (held.native == nullptr) break;
      DropTiedWrapper(thread, std::exchange(held.wrapper, nullptr));
      const Attached attached(thread, *tied_runtime_);
      held.wrapper = tied::Wrap(thread, held.native);
      break;
    }
    case kUnwrap:
      if (held.wrapper != nullptr) keep(tied::Copy(&held.wrapper->native));
      break;
    case kCopy:
      if (held.native != nullptr) tied::Drop(thread, tied::Copy(held.native));
      break;
    case kDrop:
      keep(nullptr);
      break;
    case kDropWrapper:
      DropTiedWrapper(thread, std::exchange(held.wrapper, nullptr));
      break;
    case kGive:
      if (held.native == nullptr) break;
      if (TiedNative* old = Swap(boxes_.tied_native, std::exchange(held.native, nullptr)); old != nullptr)
        tied::Drop(thread, old);
      break;
    case kTake:
      if (auto* taken = Swap<TiedNative>(boxes_.tied_native, nullptr); taken != nullptr) keep(taken);
      break;
    case kPass:
      if (held.wrapper != nullptr) DropTiedWrapper(thread, Swap(boxes_.tied_wrapper, std::exchange(held.wrapper, nullptr)));
      break;
    case kReceive:
      if (auto* taken = Swap<TiedWrapper>(boxes_.tied_wrapper, nullptr); taken != nullptr)
        DropTiedWrapper(thread, std::exchange(held.wrapper, taken));
      break;
    case kCollect: {
      const Attached attached(thread, *tied_runtime_);
      tied_runtime_->Collect(thread);
      break;
    }
    default:  // no weak references
      break;
  }
}

// The thread's wrapper is garbage from now on.
void ObjectSlot::Discard(int thread, int design) {
  Object* object = nullptr;
  if (design == kTag) {
    object = std::exchange(tag_held_[thread].wrapper, nullptr);
  } else if (design == kTied) {
    object = std::exchange(tied_held_[thread].wrapper, nullptr);
  } else {
    object = std::exchange(count_held_[thread][CountMode(design)].wrapper, nullptr);
  }
  if (object == nullptr) return;
  const Attached attached(thread, *object->home);
  object->home->Discard(thread, object);
}

void ObjectSlot::CollectAll() {
  const auto collect = [](Runtime& runtime) {
    const Attached attached(0, runtime);
    runtime.Collect(0);
  };
  for (auto& tag : tags_) collect(tag->runtime());
  for (auto& runtime : runtimes_) collect(*runtime);
  collect(*tied_runtime_);
}

void ObjectSlot::Apply(int thread, Operation operation) {
  if (operation.code == kDiscard) {
    Discard(thread, operation.arguments[0]);
  } else if (operation.code == kDisarm) {
    const int interpreter = operation.arguments[0];
    HANDOFF_SYNC_POINT(&disarmed_[interpreter], "choose who disarms");
    if (disarmed_[interpreter].exchange(true, std::memory_order_relaxed)) return;
    tags_[interpreter]->Disarm();
  } else if (operation.arguments[0] == kTag) {
    ApplyToTag(thread, operation);
  } else if (operation.arguments[0] == kTied) {
    ApplyToTied(thread, operation);
  } else {
    ApplyToCount(thread, CountMode(operation.arguments[0]), operation);
  }
}

void ObjectSlot::End() {
  CollectAll();
  for (int mode = 0; mode < kCountModes; ++mode) {
    for (int t = 0; t < threads_; ++t) {
      if (count_held_[t][mode].native != nullptr) count::CheckOwnership(*count_held_[t][mode].native);
    }
  }
  for (int t = 0; t < threads_; ++t) {
    DropTagWrapper(0, std::exchange(tag_held_[t].wrapper, nullptr));
    DropTiedWrapper(0, std::exchange(tied_held_[t].wrapper, nullptr));
    if (TiedNative* native = std::exchange(tied_held_[t].native, nullptr); native != nullptr) tied::Drop(0, native);
    if (TagNative* native = std::exchange(tag_held_[t].native, nullptr); native != nullptr) tag::Drop(0, native);
    for (CountHeld& held : count_held_[t]) {
      DropCountWrapper(0, std::exchange(held.wrapper, nullptr));
      if (CountNative* native = std::exchange(held.native, nullptr); native != nullptr) count::Drop(0, native);
    }
  }
  for (auto& box : boxes_.tag_wrapper) DropTagWrapper(0, Swap<TagWrapper>(box, nullptr));
  if (auto* native = Swap<TagNative>(boxes_.tag_native, nullptr); native != nullptr) tag::Drop(0, native);
  for (int mode = 0; mode < kCountModes; ++mode) {
    DropCountWrapper(0, Swap<ModelWrapper>(boxes_.count_wrapper[mode], nullptr));
    if (auto* native = Swap<CountNative>(boxes_.count_native[mode], nullptr); native != nullptr) count::Drop(0, native);
    for (int t = 0; t < threads_; ++t) {
      if (CountNative* weak = std::exchange(count_held_[t][mode].weak, nullptr); weak != nullptr) count::DropWeak(weak);
    }
  }
  DropTiedWrapper(0, Swap<TiedWrapper>(boxes_.tied_wrapper, nullptr));
  if (auto* native = Swap<TiedNative>(boxes_.tied_native, nullptr); native != nullptr) tied::Drop(0, native);
  watch::Judge();
  for (auto& tag : tags_) tag.reset();
  for (ModelSide& side : sides_) side.End();
  for (auto& runtime : runtimes_) runtime.reset();
}

}  // namespace handoff::interpreter
