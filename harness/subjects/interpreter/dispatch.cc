#include "harness/subjects/interpreter/dispatch.h"

#include <sched.h>

#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/tag_slot.h"
#include "harness/subjects/interpreter/watch.h"

namespace handoff::interpreter {
namespace {

Runtime* StayWhereYouAre(int thread, Tag& /*tag*/) { return Current(thread); }
void NeverEntered(int /*thread*/, Tag& /*tag*/, Runtime* /*before*/) {}

// The interpreter's code is gone, so its object stays where it is, for good (D3).
void GiveUp(int /*thread*/, TagWrapper* wrapper) {
  watch::WrapperLeaked(wrapper->number);
  wrapper->tag->LeaveBehind(wrapper);
}

// Sequentially consistent, with Dispatch::Disarm: either our call is counted when that looks, or we see the pointer overwritten.
// Acquire and release alone would let both sides miss each other (store buffering).
template <typename Function>
Function Load(Function& pointer) {
  return std::atomic_ref(pointer).load(std::memory_order_seq_cst);
}

template <typename Function>
void Store(Function& pointer, Function function) {
  if (Has(Defect::kPlainPointers)) {
    pointer = function;
  } else {
    std::atomic_ref(pointer).store(function, std::memory_order_seq_cst);
  }
}

}  // namespace

const Functions Dispatch::kNothing = {StayWhereYouAre, GiveUp, NeverEntered};

void Dispatch::Run(const Functions& functions, int thread, TagWrapper* wrapper) {
  HANDOFF_SYNC_POINT(&tag_, "call");
  Runtime* before = functions.enter(thread, tag_);
  functions.decref(thread, wrapper);
  functions.leave(thread, tag_, before);
}

void Dispatch::Decref(int thread, TagWrapper* wrapper) {
  const Runtime* before = Current(thread);
  HANDOFF_SYNC_POINT(&tag_, "begin call");
  calls_.fetch_add(1, std::memory_order_seq_cst);
  Call(thread, wrapper);
  if (Current(thread) != before) watch::LeftElsewhere(tag_.number());
  HANDOFF_SYNC_POINT(&tag_, "end call");
  // Release: what the call did comes before the unloading.
  calls_.fetch_sub(1, Has(Defect::kRelaxedDisarm) ? std::memory_order_relaxed : std::memory_order_release);
}

void Dispatch::Disarm() {
  Overwrite();
  const auto order = Has(Defect::kRelaxedDisarm) ? std::memory_order_relaxed : std::memory_order_seq_cst;
  while (!Has(Defect::kDisarmWithoutWaiting)) {
    HANDOFF_SYNC_POINT(&tag_, "load calls");
    if (calls_.load(order) == 0) break;
    sched_yield();
  }
  watch::Unloaded(tag_.number());
  Unload();
}

TableDispatch::TableDispatch(Tag& tag, const Functions& loaded)
    : Dispatch(tag), loaded_(new Functions(loaded)), functions_(loaded_.get()) {}

void TableDispatch::Call(int thread, TagWrapper* wrapper) {
  HANDOFF_SYNC_POINT(&tag(), "load table");
  Run(*functions_.load(std::memory_order_seq_cst), thread, wrapper);  // as in Load
}

void TableDispatch::Overwrite() {
  HANDOFF_SYNC_POINT(&tag(), "disarm");
  functions_.store(&kNothing, std::memory_order_seq_cst);
}

// A function that is called as soon as it is read may find that the next one was overwritten in between.
void PointersDispatch::CallOneByOne(int thread, TagWrapper* wrapper) {
  HANDOFF_SYNC_POINT(&tag(), "load and call enter");
  Runtime* before = Load(functions_.enter)(thread, tag());
  HANDOFF_SYNC_POINT(&tag(), "load and call decref");
  Load(functions_.decref)(thread, wrapper);
  HANDOFF_SYNC_POINT(&tag(), "load and call leave");
  Load(functions_.leave)(thread, tag(), before);
}

void PointersDispatch::Call(int thread, TagWrapper* wrapper) {
  if (Has(Defect::kPointersReadOneByOne)) return CallOneByOne(thread, wrapper);
  HANDOFF_SYNC_POINT(&tag(), "load enter");
  Functions seen{};
  seen.enter = Load(functions_.enter);
  HANDOFF_SYNC_POINT(&tag(), "load decref");
  seen.decref = Load(functions_.decref);
  HANDOFF_SYNC_POINT(&tag(), "load leave");
  seen.leave = Load(functions_.leave);
  // They are only ever overwritten: if none is, all three were there at once, and what they lead to stays until our call ends.
  const bool whole = seen.enter != kNothing.enter && seen.decref != kNothing.decref && seen.leave != kNothing.leave;
  Run(whole ? seen : kNothing, thread, wrapper);
}

void PointersDispatch::Overwrite() {
  HANDOFF_SYNC_POINT(&tag(), "disarm leave");
  Store(functions_.leave, kNothing.leave);
  HANDOFF_SYNC_POINT(&tag(), "disarm decref");
  Store(functions_.decref, kNothing.decref);
  HANDOFF_SYNC_POINT(&tag(), "disarm enter");
  Store(functions_.enter, kNothing.enter);
}

}  // namespace handoff::interpreter
