// A box that several threads own: each starts with one reference, may take more, and drops them. The last drop empties the box.
#include <array>
#include <atomic>

#include "harness/oracle/verdict.h"
#include "harness/run/target.h"
#include "harness/schedule/point.h"
#include "harness/subjects/subject.h"

namespace {

enum Code : int { kClone, kDrop };  // indexes kOperations
constexpr handoff::OperationKind kOperations[] = {{.name = "clone"}, {.name = "drop"}};
constexpr handoff::Twin kTwins[] = {{"count_read_again", "the count is read again to see who was the last", "double-delete"}};

class Box final : public handoff::Subject {
 public:
  explicit Box(bool broken) : broken_(broken) {}

  void Begin(const handoff::Case& c) override {
    for (std::size_t i = 0; i < held_.size(); ++i) held_[i] = i < c.threads.size() ? 1 : 0;
    references_ = static_cast<int>(c.threads.size());
    content_ = new int(42);
    emptied_ = false;
  }

  void Apply(int thread, handoff::Operation operation) override {
    int& held = held_[static_cast<std::size_t>(thread)];
    if (held == 0) return;  // it has nothing to clone or to drop
    if (operation.code == kDrop) {
      Drop(held);
      return;
    }
    HANDOFF_SYNC_POINT(&references_, "clone");
    references_.fetch_add(1, std::memory_order_relaxed);  // relaxed: we hold a reference already
    ++held;
  }

  void End() override {
    for (int& held : held_) {
      while (held > 0) Drop(held);
    }
    if (!emptied_) handoff::oracle::Fail("missing-delete", "", "All references were dropped, and the box was never emptied.");
  }

 private:
  void Drop(int& held) {
    --held;
    HANDOFF_SYNC_POINT(&references_, "drop");
    // Release: our uses come before the delete. Acquire: so do those of all who dropped theirs before us.
    bool last = references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (broken_) {
      HANDOFF_SYNC_POINT(&references_, "read count");
      last = references_.load(std::memory_order_acquire) == 0;
    }
    if (!last) return;
    if (emptied_) handoff::oracle::Fail("double-delete", "", "Two threads each believe to be the last and empty the box.");
    emptied_ = true;
    delete content_;
  }

  const bool broken_;
  std::array<int, handoff::kMaxThreads> held_{};  // a thread's own references; used by that thread, and by End
  std::atomic<int> references_ = 0;
  int* content_ = nullptr;  // owned by the references together
  bool emptied_ = false;    // written by whoever drops the last reference
};

}  // namespace

const handoff::Target& handoff::TheTarget() {
  static const Target target = {.name = "example_box",
                                .summary = "Clones and drops references to one box. Does not cover weak references.",
                                .alphabet = {kOperations},
                                .twins = kTwins,
                                .make = [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<Box>(twin >= 0); }};
  return target;
}
