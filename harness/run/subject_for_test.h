// Test only: a subject whose one operation calls a function, and cases for it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/target.h"
#include "harness/subjects/subject.h"

namespace handoff {

// What a subject notes is no access of its own: ThreadSanitizer would rightly call it a race.
#define HANDOFF_NOTE __attribute__((no_sanitize("thread")))

// Notes what is called, in order. `on_apply` may be replaced between executions, and must not race.
class CallingSubject final : public Subject {
 public:
  std::function<void(int thread, const Operation&)> on_apply = [](int, const Operation&) {};
  ThreadBits needs_finish = 0;
  bool started[kMaxThreads] = {};  // each written by its carrier, plainly

  void Begin(const Case&) override { Note('b', 0, 0); }
  void Start(int thread) override {
    Note('s', thread, 0);
    started[thread] = true;
  }
  void Apply(int thread, Operation operation) override {
    Note('a', thread, operation.code);
    on_apply(thread, operation);
  }
  ThreadBits NeedsFinish(ThreadBits) override { return std::exchange(needs_finish, 0); }
  void Finish(int thread) override { Note('f', thread, 0); }
  void End() override { Note('e', 0, 0); }

  // "begin", "start 0", "apply 0.1", "finish 0", "end"
  std::vector<std::string> Calls() const {
    std::vector<std::string> calls;
    for (int i = 0; i < count_; ++i) {
      const auto& [what, thread, code] = notes_[i];
      if (what == 'b') calls.emplace_back("begin");
      if (what == 's') calls.push_back("start " + std::to_string(thread));
      if (what == 'a') calls.push_back("apply " + std::to_string(thread) + "." + std::to_string(code));
      if (what == 'f') calls.push_back("finish " + std::to_string(thread));
      if (what == 'e') calls.emplace_back("end");
    }
    return calls;
  }
  void Forget() { count_ = 0; }

 private:
  struct Entry {
    char what;
    int thread;
    int code;
  };
  HANDOFF_NOTE void Note(char what, int thread, int code) {
    if (count_ == 1000) return;
    Entry& entry = notes_[count_++];
    entry.what = what;
    entry.thread = thread;
    entry.code = code;
  }

  Entry notes_[1000] = {};
  int count_ = 0;
};

inline Case SmallCase(Strategy strategy = Strategy::kListed, Granularity granularity = Granularity::kOp) {
  Case c;
  c.strategy = strategy;
  c.granularity = granularity;
  c.threads = {{{.code = 0}, {.code = 1}}, {{.code = 2}}};
  return c;
}

}  // namespace handoff
