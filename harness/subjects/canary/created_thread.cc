// A thread that an operation creates, and that touches the same integer as its creator. Safe, the creator joins first.
#include <thread>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "spawn"}};
constexpr Twin kTwins[] = {{"joined_too_late", "smallest race with a thread created inside the run", "thread"}};

class CreatedThread final : public Subject {
 public:
  explicit CreatedThread(bool joins_first) : joins_first_(joins_first) {}

  void Begin(const Case& /*c*/) override {
    for (Slot& slot : slots_) slot = {};
  }

  void Apply(int thread, Operation /*operation*/) override {
    Slot& slot = slots_[thread];
    if (slot.spawned) return;  // one each: the scheduler numbers sixteen threads in all
    slot.spawned = true;
    std::thread created([&slot] { ++slot.value; });
    if (joins_first_) created.join();
    ++slot.value;
    if (!joins_first_) created.join();
  }

  void End() override {}

 private:
  struct Slot {  // of one thread and of the one it creates
    bool spawned = false;
    int value = 0;
  };

  const bool joins_first_;
  Slot slots_[kMaxThreads];
};

}  // namespace

constinit const Canary kCreatedThread = {"canary_created_thread", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                           return std::make_unique<CreatedThread>(twin < 0);
                                         }};

}  // namespace handoff::canary
