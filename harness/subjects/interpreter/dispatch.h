// How the native side calls into an interpreter whose code may be unloaded: through functions that can be disarmed.
//
// A call uses three functions, which only make sense together: enter the interpreter, drop the reference, leave. Two designs:
//
//   one pointer     The functions lie in a table. Disarming exchanges the pointer to it for one to a table that does nothing.
//   many pointers   There is a pointer for each function, and disarming overwrites one after another. So a call may find some of
//                   them overwritten and others not: it reads all of them first, and does nothing if any one is overwritten.
//
// (PyTorch's, since and until pytorch/pytorch#84657, with invariants D1 to D4 as we number them; this text is ours. There the
// pointers are plain, and nobody waits.) In both, calls are counted: whoever disarms waits for those that are under way.
#pragma once

#include <atomic>
#include <memory>

namespace handoff::interpreter {

class Runtime;
class Tag;
struct TagWrapper;

// What the native side asks an interpreter to do. By any thread, attached or not.
struct Functions {
  // Attaches, unless the thread is; returns the interpreter that it was attached to before, borrowed, or null.
  Runtime* (*enter)(int thread, Tag& tag);
  // Drops the native side's reference to a wrapper.
  void (*decref)(int thread, TagWrapper* wrapper);
  // Undoes `enter`.
  void (*leave)(int thread, Tag& tag, Runtime* before);
};

class Dispatch {
 public:
  // Of the tag that owns it.
  explicit Dispatch(Tag& tag) : tag_(tag) {}
  virtual ~Dispatch() = default;
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;

  // Drops a reference through the functions, and leaves the thread attached where it was (D4). Any thread.
  void Decref(int thread, TagWrapper* wrapper);
  // The code is about to go: no call is under way when this returns, and none follows (D1, D2). Once, by a detached thread that
  // is not inside a call, since those that are may be waiting for the GIL.
  void Disarm();

 protected:
  static const Functions kNothing;  // what disarmed functions do: the wrapper is left behind

  void Run(const Functions& functions, int thread, TagWrapper* wrapper);
  Tag& tag() { return tag_; }

 private:
  virtual void Call(int thread, TagWrapper* wrapper) = 0;
  virtual void Overwrite() = 0;
  // What only the code itself used; after the last call.
  virtual void Unload() = 0;

  Tag& tag_;
  std::atomic<int> calls_{0};  // under way
};

class TableDispatch final : public Dispatch {
 public:
  TableDispatch(Tag& tag, const Functions& loaded);

 private:
  void Call(int thread, TagWrapper* wrapper) override;
  void Overwrite() override;
  void Unload() override { loaded_ = nullptr; }

  std::unique_ptr<const Functions> loaded_;  // freed by Disarm, as code is unloaded
  std::atomic<const Functions*> functions_;  // loaded_ or kNothing
};

class PointersDispatch final : public Dispatch {
 public:
  PointersDispatch(Tag& tag, const Functions& loaded) : Dispatch(tag), functions_(loaded) {}

 private:
  void Call(int thread, TagWrapper* wrapper) override;
  void Overwrite() override;
  void Unload() override {}
  void CallOneByOne(int thread, TagWrapper* wrapper);

  Functions functions_;  // each pointer of its own, by atomic references
};

}  // namespace handoff::interpreter
