// A shared box with a count of owners; whoever lets go last deletes it.
//
// Broken in two ways: the count is decremented and read in two steps, and two threads both believe to be the last; or only thread
// A ever deletes. The ownership ledger notices a second delete before it happens and a missing one at the end (LeakSanitizer is
// switched off in every binary of ours: it cannot see leaks of what an interpreter still points to). Once more without the
// ledger, to see that the allocator notices.
#include <atomic>
#include <cstdint>

#include "harness/oracle/ledger.h"
#include "harness/schedule/point.h"
#include "harness/subjects/canary/canary.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "release"}};
constexpr Twin kDeleteTwins[] = {{"count_read_again", "the reference count is read after the decrement", "double-delete"}};
constexpr Twin kFreeTwins[] = {{"count_read_again", "the reference count is read after the decrement", "address"}};
constexpr Twin kLeakTwins[] = {{"creator_only", "the last owner deletes only if it is thread A", "missing-delete"}};

enum class Flaw : std::uint8_t { kNone, kCountReadAgain, kCreatorOnly };

struct Box {
  std::uint64_t payload = 0;
};

class Owners final : public Subject {
 public:
  Owners(Flaw flaw, bool with_ledger) : flaw_(flaw), with_ledger_(with_ledger) {}

  void Begin(const Case& c) override {
    box_ = new Box;
    if (with_ledger_) Enter();
    owners_ = static_cast<int>(OperationCount(c));
    if (owners_ == 0) Delete();
  }

  void Apply(int thread, Operation /*operation*/) override {
    HANDOFF_SYNC_POINT(&owners_, "decrement owners");
    bool last = owners_.fetch_sub(1) == 1;
    if (flaw_ == Flaw::kCountReadAgain) {
      HANDOFF_SYNC_POINT(&owners_, "read owners");
      last = owners_.load() == 0;
    }
    if (flaw_ == Flaw::kCreatorOnly && thread != 0) return;
    if (last) Delete();
  }

  void End() override {
    if (with_ledger_) ledger::Judge();
  }

 private:
  void Enter() {
    ledger::Reset();
    storage_ = ledger::AddStorage(&box_->payload, sizeof box_->payload);
    box_->payload = ledger::Payload(storage_, 0);
    tensor_ = ledger::Exported(box_, {.storage = storage_});
  }

  void Delete() {
    HANDOFF_SYNC_POINT(box_, "free box");
    if (with_ledger_) {
      ledger::Released(tensor_, ledger::Owner::kHandle);
      ledger::DeleterCalled(box_);
      ledger::StorageFreed(storage_);
    }
    delete box_;
  }

  const Flaw flaw_;
  const bool with_ledger_;
  std::atomic<int> owners_ = 0;
  Box* box_ = nullptr;  // owned by whoever brings owners_ to zero
  int storage_ = 0;     // the ledger's numbers, set before the threads start
  int tensor_ = 0;
};

}  // namespace

constinit const Canary kDoubleDelete = {"canary_double_delete", kOperations, kDeleteTwins,
                                        [](int twin) -> std::unique_ptr<Subject> {
                                          return std::make_unique<Owners>(twin < 0 ? Flaw::kNone : Flaw::kCountReadAgain, true);
                                        }};
constinit const Canary kDoubleFree = {"canary_double_free", kOperations, kFreeTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<Owners>(twin < 0 ? Flaw::kNone : Flaw::kCountReadAgain, false);
                                      }};
constinit const Canary kLeak = {"canary_leak", kOperations, kLeakTwins, [](int twin) -> std::unique_ptr<Subject> {
                                  return std::make_unique<Owners>(twin < 0 ? Flaw::kNone : Flaw::kCreatorOnly, true);
                                }};

}  // namespace handoff::canary
