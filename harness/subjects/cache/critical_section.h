// Critical sections as a free-threaded CPython has them: locks of objects that a thread gives up whenever it waits.
//
// A section keeps others out for as long as its thread is attached and waits for nothing. When the thread detaches (it blocks, it
// stops the world, it waits for another section) all its sections are suspended, that is, their locks are given back; when it has
// attached again, the innermost one takes its lock again, and the outer ones follow when it ends. Sections therefore never cause
// a deadlock, and what was checked in one may be wrong by the time that a callback returns: check again.
//
// After CPython's Include/internal/pycore_critical_section.h; our text and code. The model suspends sections at every stop of the
// world; CPython only when two threads stop it at once.
#pragma once

#include <mutex>

#include "harness/subjects/interpreter/runtime.h"

namespace handoff::cache {

// What is locked: one for each object.
class ObjectLock {
 public:
  bool TryTake() { return mutex_.try_lock(); }
  void Give() { mutex_.unlock(); }
  // Until it was free once. Does not take it, so a thread that has to attach afterwards holds nothing.
  void WaitUntilFree() { const std::scoped_lock lock(mutex_); }

 private:
  std::mutex mutex_;
};

// By an attached thread; sections of a thread end in the opposite order of their beginning. `lock` outlives it. One on the object
// whose section is the innermost already does nothing.
class CriticalSection {
 public:
  CriticalSection(int thread, ObjectLock& lock);
  ~CriticalSection();
  CriticalSection(const CriticalSection&) = delete;
  CriticalSection& operator=(const CriticalSection&) = delete;

 private:
  friend class Sections;

  void Take();

  const int thread_;
  ObjectLock& lock_;              // not owned
  CriticalSection* const outer_;  // not owned; the one that this one is in, or null
  bool nothing_ = false;          // the outer one has this lock
  bool active_ = false;           // has the lock
  bool waiting_ = false;          // for the lock, detached
};

// Suspends the sections of a thread that detaches and resumes the innermost when it is attached again. To be the runtime's
// listener. Also where invariant 10 (b) is checked: nobody waits to attach with a table's lock in the hand.
class Sections final : public interpreter::Listener {
 public:
  // Before an execution: no thread is in a section.
  static void Forget();

  void BeforeAttach(int thread) override;
  void AfterAttach(int thread) override;
  void BeforeDetach(int thread) override;
};

}  // namespace handoff::cache
