// The count-driven object slot: a native object and its wrapper in an interpreter keep each other alive by their counts alone.
//
// The wrapper always owns one strong reference to the native object. The native side owns one reference to the wrapper if and
// only if somebody besides the wrapper holds the native object. So the wrapper lives as long as either side is used, and nothing
// is ever resurrected. Whoever takes the strong count from 1 to 2 takes that reference, whoever takes it from 2 to 1 gives it
// back; a flag, which says that there is a wrapper, lies in the same word as the count, since the two must be seen together.
// (PyTorch's slot since 2025, pytorch/pytorch#167564, whose states and invariants C1 to C8 we number; this text is ours.)
//
// The algorithm is the same for a modelled interpreter and for CPython; what differs is its Side.
//
// Unlike that one, a weak reference takes the wrapper under a lock that the wrapper's dealloc takes as well: a conditional incref
// of an object needs its memory to be there, and a free-threaded interpreter may have freed it. Where freed memory is only ever
// used for wrappers again, the modelled side does it without that lock, and looks at the slot a second time.
#pragma once

#include <atomic>
#include <cstdint>

namespace handoff::interpreter {

struct CountNative;

// Where the thread was before it attached; used by the side alone.
struct Before {
  void* interpreter = nullptr;
  int state = 0;
  bool attached = false;
};

// What the algorithm asks of an interpreter and its wrappers, which it knows as bare pointers. Lives as long as the process.
class Side {
 public:
  Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  // Attaches the thread, unless it is; false if the interpreter has ended. Undone by Leave, in the same order, whatever came out.
  virtual bool Enter(int thread, Before& before) = 0;
  virtual void Leave(int thread, const Before& before) = 0;

  // By attached threads. A new wrapper takes over a strong reference and has one reference, the caller's. It drops the strong
  // one, detached, when it ends, and before that clears the slot if it is in there; it says both to the watch.
  virtual void* NewWrapper(int thread, CountNative* native) = 0;
  virtual void Incref(int thread, void* wrapper) = 0;
  virtual void Decref(int thread, void* wrapper) = 0;
  // The wrapper is in the slot now: from here on TryTake must find it.
  virtual void Published(int thread, CountNative& native, void* wrapper) = 0;
  // A reference to the wrapper in the slot, unless it is going, or gone.
  virtual bool TryTake(int thread, CountNative& native) = 0;
  // The watch's number.
  virtual int Number(const void* wrapper) const = 0;
  // Frees the memory. Attached or not.
  virtual void Free(CountNative* native) = 0;

 protected:
  ~Side() = default;
};

struct CountNative {
  // Strong references in the lower half, weak ones above (plus one for all strong ones together), and the flag.
  static constexpr std::uint64_t kStrong = 1;
  static constexpr std::uint64_t kWeak = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kHasWrapper = std::uint64_t{1} << 63;
  static std::uint64_t Strong(std::uint64_t word) { return word & (kWeak - 1); }
  static std::uint64_t Weak(std::uint64_t word) { return (word & ~kHasWrapper) / kWeak; }

  // One strong reference, the caller's.
  explicit CountNative(Side& of);

  std::atomic<std::uint64_t> word{kStrong + kWeak};
  std::atomic<void*> slot{nullptr};  // a wrapper; owned as the comment above says
  std::atomic<bool> flag{false};     // of the twin that keeps it apart
  Side& side;
  const int number;  // the watch's
};

namespace count {

// All of the following by any thread, attached or not, unless they say so. References are the caller's to give away or to keep.
CountNative* Copy(int thread, CountNative* native);
void Drop(int thread, CountNative* native);
void CopyWeak(CountNative* native);
void DropWeak(CountNative* native);
// A strong reference from a weak one, or null if there is none to be had any more.
CountNative* Lock(int thread, CountNative* weak);

// The native object's wrapper, a new reference. By an attached thread that holds a strong reference, not the wrapper's own, for
// the whole call (C8); with `moved` that reference is given away.
void* Wrap(int thread, CountNative* native, bool moved);

// What a wrapper says when its last reference is gone: fails unless it may end (C3). Attached.
void CheckDealloc(CountNative& native, int wrapper);
// Whether the counts are as the comment above says (C1). Nobody may be in the middle of a call.
void CheckOwnership(const CountNative& native);

}  // namespace count

}  // namespace handoff::interpreter
