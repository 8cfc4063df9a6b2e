#include "harness/subjects/python_subject.h"

#include "harness/python/embed.h"
#include "harness/python/thread_state.h"

namespace handoff {

void PythonSubject::Start(int thread) { python::MakeThreadState(thread); }

bool PythonSubject::NeedsFinish() {
  if (rounds_++ == 0) DropEverything();
  if (!Outstanding()) return false;
  Clean(rounds_);
  return Outstanding() && rounds_ <= MaxRounds();
}

void PythonSubject::Finish(int thread) { python::Drain(thread); }

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
