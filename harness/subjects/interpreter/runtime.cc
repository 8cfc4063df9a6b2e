#include "harness/subjects/interpreter/runtime.h"

#include "harness/case/case.h"
#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"

namespace handoff::interpreter {
namespace {

Runtime* current[kMaxThreads] = {};  // each by its thread only; not owned

void CheckAttached(int thread, const Object& object, const char* what) {
  if (current[thread] == object.home) return;
  oracle::Fail("no-thread-state", current[thread] == nullptr ? "S0" : "T3",
               "A thread %s without being attached to the interpreter of the object%s. Attach, do it, detach.", what,
               current[thread] == nullptr ? "" : ", but to another one");
}

}  // namespace

Runtime* Current(int thread) { return current[thread]; }

void ForgetThreads() {
  for (Runtime*& runtime : current) runtime = nullptr;
}

Runtime::Runtime(Mode mode, int number, Listener* listener)
    : mode_(mode), node_(lock_order::NewNode("interpreter", number)), listener_(listener) {}

bool Runtime::Attach(int thread) {
  if (listener_ != nullptr) listener_->BeforeAttach(thread);
  lock_order::Waits(thread, node_);
  if (mode_ == Mode::kGil) {
    gil_.lock();
  } else {
    world_.lock_shared();
  }
  current[thread] = this;
  lock_order::Got(thread, node_);
  if (ended_) {
    Detach(thread);
    return false;
  }
  if (listener_ != nullptr) listener_->AfterAttach(thread);
  return true;
}

void Runtime::Detach(int thread) {
  if (listener_ != nullptr) listener_->BeforeDetach(thread);
  current[thread] = nullptr;
  lock_order::Gave(thread, node_);
  if (mode_ == Mode::kGil) {
    gil_.unlock();
  } else {
    world_.unlock_shared();
  }
}

// The GIL stops everybody else by itself.
void Runtime::StopTheWorld(int thread) {
  if (mode_ == Mode::kGil) return;
  if (listener_ != nullptr) listener_->BeforeDetach(thread);
  world_.unlock_shared();
  world_.lock();
}

void Runtime::StartTheWorld(int thread) {
  if (mode_ == Mode::kGil) return;
  world_.unlock();
  world_.lock_shared();
  if (listener_ != nullptr) listener_->AfterAttach(thread);
}

void Runtime::Discard(int thread, Object* object) {
  CheckAttached(thread, *object, "discards a reference");
  const std::scoped_lock lock(garbage_lock_);
  garbage_.push_back(object);
  has_garbage_.store(true, std::memory_order_relaxed);
}

void Runtime::Collect(int thread) {
  StopTheWorld(thread);
  std::vector<Object*> garbage;
  {
    const std::scoped_lock lock(garbage_lock_);
    garbage.swap(garbage_);
    has_garbage_.store(false, std::memory_order_relaxed);
  }
  StartTheWorld(thread);
  for (Object* object : garbage) Decref(thread, object);
}

void Runtime::BeforeAllocation(int thread) {
  HANDOFF_SYNC_POINT(this, "allocate");
  if (has_garbage_.load(std::memory_order_relaxed)) Collect(thread);
}

void Runtime::End(int thread) {
  StopTheWorld(thread);
  ended_ = true;
  may_have_ended_.store(true, std::memory_order_relaxed);
  StartTheWorld(thread);
  Detach(thread);
}

bool Runtime::Begin(int thread) {
  lock_order::Waits(thread, node_);
  const std::scoped_lock both(gil_, world_);
  if (!ended_) return false;
  ended_ = false;
  may_have_ended_.store(false, std::memory_order_relaxed);
  ++generation_;
  return true;
}

void Incref(int thread, Object* object) {
  CheckAttached(thread, *object, "takes a reference");
  HANDOFF_SYNC_POINT(object->token, "incref");
  // Relaxed: the caller's own reference keeps the object alive.
  object->references.fetch_add(1, std::memory_order_relaxed);
}

void Decref(int thread, Object* object) {
  CheckAttached(thread, *object, "drops a reference");
  HANDOFF_SYNC_POINT(object->token, "decref");
  // Release: our uses come before the end. Acquire: whoever drops the last reference sees the uses of all others.
  if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) object->dealloc(thread, object);
}

bool TryIncref(int thread, Object* object) {
  CheckAttached(thread, *object, "takes a reference");
  HANDOFF_SYNC_POINT(object->token, "try to incref");
  int seen = object->references.load(std::memory_order_relaxed);
  while (seen > 0) {
    // Acquire: nobody's reference keeps the object for us, so what its owners wrote comes with the count. Relaxed on failure:
    // nothing was won.
    if (object->references.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  }
  return false;
}

Attached::Attached(int thread, Runtime& runtime) : thread_(thread), runtime_(runtime), before_(Current(thread)) {
  if (before_ == &runtime_) return;
  if (before_ != nullptr) before_->Detach(thread_);
  attached_ = runtime_.Attach(thread_);
}

Attached::~Attached() {
  if (before_ == &runtime_) return;
  // An interpreter that ended meanwhile did not take the thread back from a Detached, and does not here either: it stays
  // detached.
  if (Current(thread_) == &runtime_) runtime_.Detach(thread_);
  if (before_ != nullptr && !before_->Attach(thread_)) return;
}

Detached::Detached(int thread) : thread_(thread), before_(Current(thread)) {
  if (before_ != nullptr) before_->Detach(thread_);
}

Detached::~Detached() {
  if (before_ != nullptr && !before_->Attach(thread_)) return;
}

}  // namespace handoff::interpreter
