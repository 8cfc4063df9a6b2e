// The interpreter tag: a native object belongs to the interpreter that wrapped it first, for ever, and that interpreter's GIL
// guards its slot. For interpreters with a GIL only: without one nothing guards the slot.
//
// The tag is claimed once, by compare and exchange. Who has the tag's GIL may read and write the slot; another interpreter is
// refused, and never sees the wrapper. The wrapper usually owns the native object; when its last reference goes while the native
// object is still held, ownership flips: the native object keeps the wrapper, which lives on with one reference and without
// owning, and comes back as it was when somebody asks for it. (PyTorch's design from 2021 to 2025, pytorch/pytorch#57985 and
// #56017, with invariants T1 to T6 and O1 to O5 as we number them; this text is ours.)
//
// The native side, which knows no interpreter, calls through a table of functions in the tag. Before the code behind it is
// unloaded the tag is disarmed: the table is exchanged for one that does nothing, and whoever disarms waits for the calls that
// are under way.
#pragma once

#include <atomic>
#include <memory>

#include "harness/subjects/interpreter/left_behind.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct TagWrapper;

// What the native side asks an interpreter to do.
struct Functions {
  // Drops the native side's reference to a wrapper. By any thread, attached or not.
  void (*decref)(int thread, TagWrapper* wrapper);
};

// An interpreter as native objects see it. Outlives every native object.
class Tag {
 public:
  Tag(Mode mode, int number);
  ~Tag();
  Tag(const Tag&) = delete;
  Tag& operator=(const Tag&) = delete;
  Runtime& runtime() { return runtime_; }
  int number() const { return number_; }

  // Any thread.
  void Decref(int thread, TagWrapper* wrapper);
  // The interpreter's code is about to go: no call is under way when this returns, and none follows. Once, by a detached thread
  // that is not inside a call, since those that are may be waiting for the GIL.
  void Disarm();
  // Takes over a wrapper that nobody will ever free. Any thread.
  void LeaveBehind(TagWrapper* wrapper) { left_.Add(wrapper); }

 private:
  static const Functions kNothing;

  Runtime runtime_;
  const int number_;                         // 0 or 1
  std::unique_ptr<const Functions> loaded_;  // freed by Disarm, as code is unloaded
  std::atomic<const Functions*> functions_;  // loaded_ or kNothing
  std::atomic<int> calls_{0};                // under way
  LeftBehind<TagWrapper> left_;
};

struct TagNative {
  std::atomic<int> strong{1};
  std::atomic<Tag*> tag{nullptr};
  // Guarded by the tag's GIL, but for the native object's end, when nobody else is left.
  TagWrapper* slot = nullptr;  // owned if `owns`
  bool owns = false;
  int number;  // the watch's
};

struct TagWrapper : Object {
  TagWrapper(Tag& of, TagNative* wrapped, int wrapper_number);
  Tag* const tag;
  TagNative* native;           // guarded by the GIL; owns a strong reference unless the native object owns the wrapper
  const int number;            // the watch's
  TagWrapper* next = nullptr;  // of those that are left behind
};

namespace tag {

// One strong reference, the caller's.
TagNative* New();
// By any thread, attached or not.
TagNative* Copy(TagNative* native);
void Drop(int thread, TagNative* native);

// The native object's wrapper in this interpreter, a new reference; null if it belongs to another one. By a thread attached to
// `tag`. `hermetic`: a wrapper for this caller alone, which does not go into the slot. `fresh`: the caller is sure that nobody
// else holds the native object, and that it has no wrapper.
TagWrapper* Wrap(int thread, Tag& tag, TagNative* native, bool hermetic, bool fresh);
// A strong reference from a wrapper. Attached to its interpreter.
TagNative* Unwrap(TagWrapper* wrapper);

}  // namespace tag

}  // namespace handoff::interpreter
