// A cache of imported modules: a slot for each, filled on first use and never emptied while the cache lives.
//
// The import runs foreign code, which may import through this cache again, so it runs without a lock. Several threads may import
// at the same time; the first to come back fills the slot, and the others drop what they have.
#pragma once

#include <atomic>
#include <mutex>

namespace handoff::cache {

struct Module {
  int number = 0;
  std::atomic<int>* alive = nullptr;  // not owned; counts the modules of the cache
  std::atomic<int> references = 1;
};

class ImportCache {
 public:
  static constexpr int kModules = 2;

  ImportCache() = default;
  ImportCache(const ImportCache&) = delete;
  ImportCache& operator=(const ImportCache&) = delete;
  ~ImportCache();

  // The module, borrowed from the cache, or null if the import fails, which leaves everything as it was. `needs` is imported by
  // the module's own code; the module itself means nothing. Any thread.
  const Module* Import(int module, int needs, bool fails);
  // On the driver: fails if a module is alive that is in no slot.
  void Check();

 private:
  Module* Run(int module, int needs, bool fails);
  void Fill(int module, Module* made);

  std::mutex mutex_;                           // of writers
  std::atomic<Module*> slots_[kModules] = {};  // written with mutex_ held, once; each owns a reference
  std::atomic<int> alive_ = 0;
};

}  // namespace handoff::cache
