#include "harness/subjects/cache/critical_section.h"

#include "harness/case/case.h"
#include "harness/subjects/cache/progress.h"

namespace handoff::cache {
namespace {

CriticalSection* innermost[kMaxThreads] = {};  // each by its thread only; not owned

}  // namespace

CriticalSection::CriticalSection(int thread, ObjectLock& lock) : thread_(thread), lock_(lock), outer_(innermost[thread]) {
  nothing_ = outer_ != nullptr && outer_->active_ && &outer_->lock_ == &lock;
  if (nothing_) return;
  // Known before it has its lock: a wait suspends the outer ones, and only this one is resumed after it.
  innermost[thread_] = this;
  Take();
}

// Attached. As PyMutex waits: detached, and without having the mutex until the thread is attached again.
void CriticalSection::Take() {
  while (!lock_.TryTake()) {
    waiting_ = true;
    {
      const interpreter::Detached detached(thread_);
      lock_.WaitUntilFree();
    }
    waiting_ = false;
  }
  active_ = true;
}

CriticalSection::~CriticalSection() {
  if (nothing_) return;
  if (active_) lock_.Give();
  innermost[thread_] = outer_;
  if (outer_ != nullptr && !outer_->active_) outer_->Take();
}

void Sections::Forget() {
  for (CriticalSection*& section : innermost) section = nullptr;
}

void Sections::BeforeAttach(int thread) { progress::Attaches(thread); }

void Sections::AfterAttach(int thread) {
  CriticalSection* section = innermost[thread];
  if (section != nullptr && !section->active_ && !section->waiting_) section->Take();
}

void Sections::BeforeDetach(int thread) {
  for (CriticalSection* section = innermost[thread]; section != nullptr; section = section->outer_) {
    if (!section->active_) continue;
    section->active_ = false;
    section->lock_.Give();
  }
}

}  // namespace handoff::cache
