// What a fuzz target is made of. A file in fuzz/ defines TheTarget() and is nothing else.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "harness/case/case.h"
#include "harness/schedule/scheduler.h"
#include "harness/subjects/subject.h"

namespace handoff {

struct Target {
  std::string_view name;     // file name in fuzz/, corpus folder and CTest name
  std::string_view summary;  // one sentence of purpose, one of what it does not cover
  schedule::Carrier carrier = schedule::Carrier::kFiber;
  Alphabet alphabet;
  std::span<const Twin> twins;  // the safe one is not listed
  // Makes the subject; `twin` is an index into `twins`, or -1 for the safe one. Called once per process.
  std::unique_ptr<Subject> (*make)(int twin) = nullptr;
  // Whether two warm runs of one case at points finer than `op` may differ without being a finding (subjects inside CPython:
  // caches, free lists and pointer hashes differ at `access`, and with them who meets whom at the interpreter's own locks).
  bool warm_access_may_differ = false;
};

// Defined by the target's file in fuzz/.
const Target& TheTarget();

}  // namespace handoff
