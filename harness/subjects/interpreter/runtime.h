// A model of an interpreter, for designs in pure C++ on fibers: attaching may wait or fail, dropping a reference may run
// anything, an allocation may collect, the world may be stopped, and the interpreter may end and begin again.
//
// What it keeps of CPython: a thread touches objects only while it is attached to their interpreter; in GIL mode one thread at a
// time is attached; in free-threaded mode any number, and stopping the world waits until all have detached. What it leaves out:
// everything else. A thread is attached to one interpreter at most; threads are named by their number, since fibers share
// thread-local storage.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace handoff::interpreter {

class Runtime;

enum class Mode : std::uint8_t { kGil, kFreeThreaded };

// An object of an interpreter. Made with one reference, the maker's.
struct Object {
  // Runs attached when the last reference is gone, frees the object unless it lives on, and may do anything else: drop
  // references, attach elsewhere, wait for locks.
  using Dealloc = void (*)(int thread, Object* self);

  // `point_token` stands for it at scheduling points.
  Object(Runtime& runtime, Dealloc at_end, const void* point_token) : home(&runtime), dealloc(at_end), token(point_token) {}

  std::atomic<int> references{1};
  Runtime* const home;  // outlives the object
  const Dealloc dealloc;
  const void* const token;
};

// What else happens when a thread attaches and detaches, say to critical sections, which end for as long as their thread waits.
// Called on that thread, in order; what it does there may detach and attach it again.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // It is detached and going to wait for the interpreter.
  virtual void BeforeAttach(int thread) = 0;
  virtual void AfterAttach(int thread) = 0;
  // It is still attached.
  virtual void BeforeDetach(int thread) = 0;

 protected:
  ~Listener() = default;
};

class Runtime {
 public:
  // `number` tells interpreters apart in reports; to the lock order, being attached is a lock. `listener` outlives the runtime.
  Runtime(Mode mode, int number, Listener* listener = nullptr);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Any thread that is attached nowhere. Waits for the GIL, or while the world is stopped. False once the interpreter has ended:
  // the thread is not attached then (as PEP 788 has it; before 3.15 CPython ends or stops such a thread).
  [[nodiscard]] bool Attach(int thread);
  void Detach(int thread);

  // By an attached thread: it goes on alone, everybody else is detached or waits at a safe point. Undone by StartTheWorld. To a
  // listener it is detached meanwhile, as a thread of CPython is that waits for another one to start the world again.
  void StopTheWorld(int thread);
  void StartTheWorld(int thread);

  // By an attached thread. Its reference to an object belongs to a cycle from now on that nothing else refers to: the next
  // collection drops it, on whatever thread. Collect does that, with the world stopped while it looks.
  void Discard(int thread, Object* object);
  void Collect(int thread);
  // By an attached thread that is going to make an object: collects if there is anything to collect, so the thread may be
  // detached meanwhile, and anything may run.
  void BeforeAllocation(int thread);

  // By an attached thread, which is detached afterwards: nobody attaches from now on. Begin lets threads attach again, by a
  // detached thread; false if it has not ended. A handle of before must not be mistaken for one of after, hence the generation.
  void End(int thread);
  bool Begin(int thread);
  // Whether End was called. Any thread, attached or not: the answer may be old when it arrives.
  bool MayHaveEnded() const { return may_have_ended_.load(std::memory_order_relaxed); }
  // Number of times that Begin was called. By an attached thread.
  int Generation() const { return generation_; }

 private:
  const Mode mode_;
  const int node_;            // of the lock order
  Listener* const listener_;  // not owned; may be null
  std::mutex gil_;
  std::shared_mutex world_;  // attached threads of a free-threaded interpreter read, whoever stops it writes
  bool ended_ = false;       // guarded by either lock
  int generation_ = 0;       // likewise
  std::atomic<bool> may_have_ended_{false};
  std::mutex garbage_lock_;
  std::vector<Object*> garbage_;          // guarded by garbage_lock_; owns references
  std::atomic<bool> has_garbage_{false};  // relaxed: one that is missed waits for the next allocation
};

// The interpreter that the thread is attached to, or null. By that thread only.
Runtime* Current(int thread);
// Before an execution: all threads are detached.
void ForgetThreads();

// References. By a thread attached to the object's interpreter; fails otherwise (oracle kind "no-thread-state").
void Incref(int thread, Object* object);
void Decref(int thread, Object* object);
// Unless the last reference is gone already. The caller keeps the memory from being freed, for instance by a lock that `dealloc`
// takes.
[[nodiscard]] bool TryIncref(int thread, Object* object);

// While it lives the thread is attached to `runtime`, and afterwards where it was before: the thread is detached from another
// interpreter first, since waiting for one GIL with another in the hand is a deadlock.
class Attached {
 public:
  Attached(int thread, Runtime& runtime);
  ~Attached();
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  // Whether it worked; it does not once the interpreter has ended.
  explicit operator bool() const { return attached_; }

 private:
  const int thread_;
  Runtime& runtime_;
  Runtime* const before_;  // not owned; may be null
  bool attached_ = true;
};

// While it lives the thread is detached: around everything that waits.
class Detached {
 public:
  explicit Detached(int thread);
  ~Detached();
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;

 private:
  const int thread_;
  Runtime* const before_;  // not owned; may be null
};

}  // namespace handoff::interpreter
