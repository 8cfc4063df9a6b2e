// The DLPack exchange inside a free-threaded CPython: Python producers, capsules that threads share, native and Python consumers,
// and deleters on threads with a thread state attached, detached, or never made. Runs on threads.
#pragma once

#include <memory>
#include <span>

#include "harness/subjects/subject.h"

namespace handoff::dlpack {

class Capsule {
 public:
  // Operations, in the order of their codes: append only.
  static const Alphabet& Operations();
  static std::span<const Twin> Twins();
  // `twin` as in Target::make.
  static std::unique_ptr<Subject> Make(int twin);
};

}  // namespace handoff::dlpack
