// Native caches of a library inside a free-threaded CPython, on threads: function objects with dispatch tables, and small caches,
// used by threads while others collect, call back, and drop the last reference.
//
// Does not cover thread-local caches, nor finalisation while a cache is in use.
#pragma once

#include <memory>
#include <span>

#include "harness/subjects/subject.h"

namespace handoff::cache {

struct PythonCache {
  // Operations, in the order of their codes: append only.
  static const Alphabet& Operations();
  static std::span<const Twin> Twins();
  // `twin` as in Target::make.
  static std::unique_ptr<Subject> Make(int twin);
};

}  // namespace handoff::cache
