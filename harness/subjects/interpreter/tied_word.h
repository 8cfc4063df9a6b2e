// The tied word: a native object keeps its wrapper's block for life, so that the wrapper's address, and with it its identity,
// survives a time in which nobody in the interpreter holds it.
//
// The wrapper owns a strong reference while it is active. When its last reference goes it becomes inactive: it gives that
// reference back, and its block stays with the native object, to be revived in place by whoever asks for the wrapper next. One
// word holds the block's address, whether it is inactive, and a lock, which is held for a few instructions and never while
// waiting; under it a reference is only taken from a count that is not zero, so that a wrapper which is going is waited for.
// (tvm-ffi's object tying, apache/tvm-ffi#593; this text is ours.) For interpreters with and without a GIL.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct TiedWrapper;

struct TiedNative {
  static constexpr std::uintptr_t kInactive = 1;
  static constexpr std::uintptr_t kLocked = 2;

  explicit TiedNative(Runtime& of);

  std::atomic<int> strong{1};
  std::atomic<std::uintptr_t> word{
      0};            // the block, which the native object owns while it is inactive; 0 before the first wrapper
  Runtime& home;     // outlives the object
  const int number;  // the watch's
};

struct TiedWrapper : Object {
  explicit TiedWrapper(TiedNative& of);
  TiedNative& native;  // owns a strong reference while it is active
  const int number;    // the watch's

 private:
  TiedWrapper(TiedNative& of, int wrapper_number);
};

namespace tied {

// By any thread, attached or not. References are the caller's.
TiedNative* Copy(TiedNative* native);
void Drop(int thread, TiedNative* native);
// The native object's wrapper, a new reference. By an attached thread that holds a strong reference for the whole call.
TiedWrapper* Wrap(int thread, TiedNative* native);

}  // namespace tied

}  // namespace handoff::interpreter
