// The interpreter tag: a native object belongs to the interpreter that wrapped it first, for ever, and that interpreter's GIL
// guards its slot. For interpreters with a GIL only: without one nothing guards the slot.
//
// The tag is claimed once, by compare and exchange. Who has the tag's GIL may read and write the slot; another interpreter is
// refused, and never sees the wrapper. The wrapper usually owns the native object; when its last reference goes while the native
// object is still held, ownership flips: the native object keeps the wrapper, which lives on with one reference and without
// owning, and comes back as it was when somebody asks for it. (PyTorch's design from 2021 to 2025, pytorch/pytorch#57985 and
// #56017, with invariants T1 to T6 and O1 to O5 as we number them; this text is ours.)
//
// The native side, which knows no interpreter, calls through functions in the tag, which can be disarmed before the code behind
// them is unloaded (dispatch.h): interpreter 0 has one pointer to a table of them, interpreter 1 a pointer for each.
#pragma once

#include <atomic>
#include <memory>

#include "harness/subjects/interpreter/dispatch.h"
#include "harness/subjects/interpreter/left_behind.h"
#include "harness/subjects/interpreter/runtime.h"

namespace handoff::interpreter {

struct TagWrapper;

// An interpreter as native objects see it. Outlives every native object.
class Tag {
 public:
  Tag(Mode mode, int number);
  Tag(const Tag&) = delete;
  Tag& operator=(const Tag&) = delete;
  Runtime& runtime() { return runtime_; }
  int number() const { return number_; }

  // As in Dispatch.
  void Decref(int thread, TagWrapper* wrapper) { dispatch_->Decref(thread, wrapper); }
  void Disarm() { dispatch_->Disarm(); }
  // Takes over a wrapper that nobody will ever free. Any thread.
  void LeaveBehind(TagWrapper* wrapper) { left_.Add(wrapper); }

 private:
  Runtime runtime_;
  const int number_;  // 0 or 1
  const std::unique_ptr<Dispatch> dispatch_;
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
