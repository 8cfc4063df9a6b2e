// What all subjects inside CPython have in common: the interpreter, a thread state for each carrier, the fork, and the end of an
// execution. README.md says how to use it.
#pragma once

#include "harness/subjects/subject.h"

namespace handoff {

class PythonSubject : public Subject {
 public:
  void Initialize(const char* argv0) override;
  void Start(int thread) override;
  // What is left when everything was dropped belongs to carriers: CPython has queued it for them. What one of them destroys may
  // in turn belong to another, so that a chain takes several rounds.
  ThreadBits NeedsFinish(ThreadBits program) final;
  void Finish(int thread) override;
  void End() final;
  void BeforeFork() override;
  void AfterForkParent() override;
  void AfterForkChild() override;

 private:
  // After all operations, on the driver thread, detached: first everything that is held is dropped; then as often as something is
  // left, and at most MaxRounds times, the driver does its part before the carriers do theirs; then the oracles judge.
  virtual void DropEverything() = 0;
  virtual bool Outstanding() = 0;
  virtual void Clean([[maybe_unused]] int round) {}  // counted from 1
  virtual void Judge() = 0;
  virtual int MaxRounds() const { return 8; }
  // The rule that a destructor breaks which leaves an exception behind, or "".
  virtual const char* LeftExceptionRule() const { return ""; }
  // The carriers for which CPython has queued something, those of other programs included.
  virtual ThreadBits Waiting() const;

  int rounds_ = 0;  // of this execution
};

}  // namespace handoff
