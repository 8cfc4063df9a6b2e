// The small caches of a library inside CPython, each filled on first use: modules' attributes, a tuple of default arguments, the
// table of a function's keywords.
//
// The first two are slots that hold one reference each and never become empty again. What goes into a slot is made without a
// lock, since making it may run Python code, which may ask the same cache; then it is published under a mutex unless somebody was
// faster, whose object everybody uses.
#pragma once

#include <array>
#include <atomic>

#include "harness/python/embed.h"

namespace handoff::cache::cpython {

// One instance at a time. Functions: any attached thread; what they return is borrowed from the cache.
class SmallCaches {
 public:
  static constexpr int kModules = 2;
  static constexpr int kKeywords = 3;

  // Makes modules in sys.modules and interns keywords, for the life of the process. On the attached main thread, once.
  static void MakeModules();

  SmallCaches();
  SmallCaches(const SmallCaches&) = delete;
  SmallCaches& operator=(const SmallCaches&) = delete;
  // Attached: drops what is in the slots.
  ~SmallCaches();

  // What a module offers. Its code imports what module `needs` offers through this cache, unless that is the module itself. If it
  // `fails`, the answer is null with an ImportError, unless the slot is full already.
  PyObject* Import(int module, int needs, bool fails);
  // A tuple of one value.
  PyObject* Defaults();
  // Position of a keyword, or kKeywords if it is none. Compares by identity, as keywords are interned.
  int Find(int keyword);

 private:
  PyObject* Publish(std::atomic<PyObject*>& slot, PyObject* made);
  void FillKeywords();

  PyMutex mutex_{};                                             // of writers, of all slots
  std::array<std::atomic<PyObject*>, kModules> imported_ = {};  // written with mutex_ held, once; own references
  std::atomic<PyObject*> defaults_ = nullptr;                   // likewise
  PyMutex keyword_mutex_{};
  std::atomic<bool> keywords_filled_ = false;
  PyObject* keywords_[kKeywords] = {};  // guarded by keyword_mutex_ until filled, then never changed; own references
};

}  // namespace handoff::cache::cpython
