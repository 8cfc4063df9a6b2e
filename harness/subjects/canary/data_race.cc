// A plain integer that several threads write. ThreadSanitizer sees it at every granularity: nothing orders the threads, even if
// one runs after the other.
#include <mutex>

#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "write"}, {.name = "read"}};
constexpr Twin kTwins[] = {{"unlocked", "smallest data race: the mutex is left out", "thread"}};

class DataRace final : public Subject {
 public:
  explicit DataRace(bool locked) : locked_(locked) {}

  void Begin(const Case& /*c*/) override { value_ = 0; }

  void Apply(int thread, Operation operation) override {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (locked_) lock.lock();
    if (operation.code == 0) {
      ++value_;
    } else {
      seen_[thread] = value_;
    }
  }

  void End() override {}

 private:
  const bool locked_;
  std::mutex mutex_;
  int value_ = 0;  // guarded by mutex_, unless broken
  int seen_[kMaxThreads] = {};
};

}  // namespace

constinit const Canary kDataRace = {"canary_data_race", kOperations, kTwins,
                                    [](int twin) -> std::unique_ptr<Subject> { return std::make_unique<DataRace>(twin < 0); }};

}  // namespace handoff::canary
