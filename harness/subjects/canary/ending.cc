#include "harness/subjects/canary/ending.h"

#include <atomic>
#include <cstdint>
#include <thread>

#include "harness/schedule/point.h"

namespace handoff::canary {
namespace {

// In the order of kEndingPlaces.
enum Place : std::uint8_t { kInOperation, kInCreatedThread, kInFinish, kInEnd };

class Ending final : public Subject {
 public:
  explicit Ending(void (*act)()) : act_(act) {}

  void Begin(const Case& /*c*/) override {
    armed_by_ = kNobody;
    at_finish_ = false;
    at_end_ = false;
    for (bool& created : created_) created = false;
  }

  void Apply(int thread, Operation operation) override {
    HANDOFF_SYNC_POINT(&armed_by_, "access armed");
    if (operation.code == 0) {
      armed_by_ = thread;
    } else if (const int by = armed_by_; by != kNobody && by != thread) {
      Fire(thread, static_cast<Place>(operation.arguments[0]));
    }
  }

  ThreadBits NeedsFinish(ThreadBits program) override { return at_finish_ ? program : 0; }
  void Finish(int /*thread*/) override {
    at_finish_ = false;  // one round is enough
    Act();
  }

  void End() override {
    if (at_end_) Act();
  }

 private:
  static constexpr int kNobody = -1;

  void Act() const {
    if (act_ != nullptr) act_();
  }

  void Fire(int thread, Place place) {
    switch (place) {
      case kInOperation:
        Act();
        break;
      case kInCreatedThread:
        if (created_[thread]) break;  // one each: the scheduler numbers sixteen threads in all
        created_[thread] = true;
        std::thread([this] { Act(); }).join();
        break;
      case kInFinish:
        at_finish_ = true;
        break;
      case kInEnd:
        at_end_ = true;
        break;
    }
  }

  void (*const act_)();
  std::atomic<int> armed_by_ = kNobody;
  std::atomic<bool> at_finish_ = false;
  std::atomic<bool> at_end_ = false;
  bool created_[kMaxThreads] = {};  // each element touched by its own thread only
};

}  // namespace

std::unique_ptr<Subject> MakeEnding(void (*act)()) { return std::make_unique<Ending>(act); }

}  // namespace handoff::canary
