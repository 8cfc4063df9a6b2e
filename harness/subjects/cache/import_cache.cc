#include "harness/subjects/cache/import_cache.h"

#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"

namespace handoff::cache {
namespace {

void Drop(Module* module) {
  // Release and acquire: all uses come before the last drop frees the module.
  if (module->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  module->alive->fetch_sub(1, std::memory_order_relaxed);
  delete module;
}

}  // namespace

// The module's own code: takes time, runs anything. The caller owns the reference.
Module* ImportCache::Run(int module, int needs, bool fails) {
  HANDOFF_SYNC_POINT(&slots_[module], "run module");
  if (needs != module) Import(needs, needs, false);
  if (fails) return nullptr;
  alive_.fetch_add(1, std::memory_order_relaxed);
  return new Module{module, &alive_};
}

// Publishes a new reference to the module unless somebody was faster.
void ImportCache::Fill(int module, Module* made) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!Has(Defect::kImportUnderLock)) lock.lock();
  // Relaxed: the mutex orders the writers.
  if (!Has(Defect::kSlotStoredUnchecked) && slots_[module].load(std::memory_order_relaxed) != nullptr) return;
  made->references.fetch_add(1, std::memory_order_relaxed);
  HANDOFF_SYNC_POINT(&slots_[module], "store module");
  // Release: readers without the lock see a finished module.
  slots_[module].store(made, std::memory_order_release);
}

const Module* ImportCache::Import(int module, int needs, bool fails) {
  HANDOFF_SYNC_POINT(&slots_[module], "load module");
  if (const Module* found = slots_[module].load(std::memory_order_acquire); found != nullptr) return found;
  if (Has(Defect::kImportUnderLock)) mutex_.lock();
  Module* made = Run(module, needs, fails);
  if (made == nullptr) return nullptr;
  Fill(module, made);
  if (Has(Defect::kImportUnderLock)) mutex_.unlock();
  Drop(made);
  return slots_[module].load(std::memory_order_acquire);
}

void ImportCache::Check() {
  int in_slots = 0;
  for (const auto& slot : slots_) in_slots += slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
  const int alive = alive_.load(std::memory_order_relaxed);
  if (alive == in_slots) return;
  oracle::Fail(
      "missing-delete", "import cache",
      "%d modules are alive and %d are in a slot. Expected each thread that came too late to drop its module, and no slot "
      "to be filled twice.",
      alive, in_slots);
}

ImportCache::~ImportCache() {
  for (auto& slot : slots_) {
    if (Module* module = slot.load(std::memory_order_relaxed); module != nullptr) Drop(module);
  }
}

}  // namespace handoff::cache
