// The count-driven object slot: a native object and its wrapper in an interpreter keep each other alive by their counts alone.
//
// The wrapper always owns one strong reference to the native object. The native side owns one reference to the wrapper if and
// only if somebody besides the wrapper holds the native object. So the wrapper lives as long as either side is used, and nothing
// is ever resurrected. Whoever takes the strong count from 1 to 2 takes that reference, whoever takes it from 2 to 1 gives it
// back; a flag, which says that there is a wrapper, lies in the same word as the count, since the two must be seen together.
// (PyTorch's slot since 2025, pytorch/pytorch#167564, whose states and invariants C1 to C8 we number; this text is ours.)
//
// Unlike that one, a weak reference takes the wrapper under a lock that the wrapper's dealloc takes as well: a conditional incref
// of an object needs its memory to be there, and a free-threaded interpreter may have freed it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct CountWrapper;

struct CountNative {
  // Strong references in the lower half, weak ones above (plus one for all strong ones together), and the flag.
  static constexpr std::uint64_t kStrong = 1;
  static constexpr std::uint64_t kWeak = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kHasWrapper = std::uint64_t{1} << 63;
  static std::uint64_t Strong(std::uint64_t word) { return word & (kWeak - 1); }
  static std::uint64_t Weak(std::uint64_t word) { return (word & ~kHasWrapper) / kWeak; }

  std::atomic<std::uint64_t> word{kStrong + kWeak};
  std::atomic<CountWrapper*> slot{nullptr};  // owned as the class comment says
  std::mutex pin;                            // keeps the slot's wrapper from being freed
  std::atomic<bool> flag{false};             // of the twin that keeps it apart
  Runtime* home;                             // of wrappers; outlives the object
  int number;                                // the watch's
};

struct CountWrapper : Object {
  explicit CountWrapper(CountNative* of);  // takes over a strong reference
  CountNative* const native;               // owns a strong reference
  const int number;                        // the watch's

 private:
  CountWrapper(CountNative* of, int wrapper_number);
};

namespace count {

// One strong reference, the caller's.
CountNative* New(Runtime& home);
// All of the following by any thread, attached or not, unless they say so. References are the caller's to give away or to keep.
CountNative* Copy(int thread, CountNative* native);
void Drop(int thread, CountNative* native);
void CopyWeak(CountNative* native);
void DropWeak(CountNative* native);
// A strong reference from a weak one, or null if there is none to be had any more.
CountNative* Lock(int thread, CountNative* weak);

// The native object's wrapper, a new reference. By an attached thread that holds a strong reference, not the wrapper's own, for
// the whole call (C8); with `moved` that reference is given away.
CountWrapper* Wrap(int thread, CountNative* native, bool moved);
// A strong reference from a wrapper, to which the caller holds a reference. Attached.
CountNative* Unwrap(int thread, CountWrapper* wrapper);

// Whether the counts are as the class comment says (C1). Nobody may be in the middle of a call.
void CheckOwnership(const CountNative& native);

}  // namespace count

}  // namespace handoff::interpreter
