#include "harness/subjects/python_subject.h"

#include "harness/oracle/verdict.h"
#include "harness/python/embed.h"
#include "harness/python/thread_state.h"

namespace handoff {

void PythonSubject::Initialize(const char* argv0) { python::Initialize(argv0); }

void PythonSubject::Start(int thread) { python::MakeThreadState(thread); }

ThreadBits PythonSubject::NeedsFinish(ThreadBits program) {
  if (rounds_++ == 0) DropEverything();
  if (!Outstanding()) return 0;
  Clean(rounds_);
  if (!Outstanding() || rounds_ > MaxRounds()) return 0;
  // Waking a carrier costs as much as an operation. If nobody waits, something else is wrong: better to have tried everything.
  const ThreadBits waiting = Waiting() & program;
  return waiting != 0 ? waiting : program;
}

ThreadBits PythonSubject::Waiting() const { return python::WaitingToDrain(); }

void PythonSubject::Finish(int thread) {
  if (!python::Drain(thread)) {
    oracle::Fail("protocol", LeftExceptionRule(),
                 "An exception came out of a program that does nothing: a destructor that ran on the way left it there.");
  }
}

void PythonSubject::End() {
  rounds_ = 0;
  python::AttachMain();
  python::CheckGilIsOff();
  python::DetachMain();
  Judge();
}

void PythonSubject::BeforeFork() { python::BeforeFork(); }
void PythonSubject::AfterForkParent() { python::AfterForkParent(); }
void PythonSubject::AfterForkChild() { python::AfterForkChild(); }

}  // namespace handoff
