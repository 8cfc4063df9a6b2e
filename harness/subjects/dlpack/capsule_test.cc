#include "harness/subjects/dlpack/capsule.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/subjects/dlpack/capsule_operations.h"
#include "harness/subjects/dlpack/interleave.h"
#include "harness/subjects/dlpack/layout.h"
#include "harness/subjects/dlpack/managed_tensor.h"
#include "harness/subjects/dlpack/negotiation.h"
#include "harness/subjects/dlpack/operation_names.h"

// LeakSanitizer does not look into CPython's allocator and takes what live objects hold for lost. The ledger judges leaks.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier): the sanitizer's name

namespace handoff::dlpack {
namespace {

constexpr int kThreads = 3;

Operation Op(std::string_view name, std::array<std::uint8_t, kMaxArguments> arguments = {}) {
  return OperationNamed(Capsule::Operations(), name, arguments);
}
Operation Export(std::string_view kind, std::string_view layout = "vector") {
  return Op("export", {0, ValueOf(kKindNames, kind), ValueOf(kLayoutNames, layout), 0});
}
Operation ReleaseDetached() { return Op("release", {capsule::kDetached}); }

// Operations run on threads of their own, one after another. Between operations the order is kept by relaxed atomics, of which
// ThreadSanitizer learns nothing; so it judges the operations as if they had run at the same time.
class Workers {
 public:
  void Start(std::string_view twin) {
    subject_ = Capsule::Make(TwinNamed(Capsule::Twins(), twin));
    subject_->Initialize("capsule_test");
    subject_->Begin(Case{});
    for (int t = 0; t < kThreads; ++t) threads_[static_cast<std::size_t>(t)] = std::thread([this, t] { Work(t); });
    for (int t = 0; t < kThreads; ++t) Send(t, kStart, std::memory_order_acq_rel);
  }

  void Apply(int thread, Operation operation) {
    std::uint64_t word = kApply | std::uint64_t{operation.code} << 8;
    for (unsigned a = 0; a < kMaxArguments; ++a) word |= std::uint64_t{operation.arguments[a]} << (16 + 8 * a);
    Send(thread, word, std::memory_order_relaxed);
  }

  // Ends the process: with 0, unless an oracle or a sanitizer has something to say.
  [[noreturn]] void Finish() {
    for (int t = 0; t < kThreads; ++t) Send(t, kMeet, std::memory_order_acq_rel);
    while (const ThreadBits waiting = subject_->NeedsFinish((1U << kThreads) - 1)) {
      for (int t = 0; t < kThreads; ++t) {
        if ((waiting >> t & 1U) != 0) Send(t, kFinish, std::memory_order_acq_rel);
      }
    }
    subject_->End();
    for (int t = 0; t < kThreads; ++t) Send(t, kStop, std::memory_order_acq_rel);
    for (std::thread& thread : threads_) thread.join();
    exit(0);
  }

 private:
  enum Command : std::uint64_t { kIdle, kStart, kApply, kMeet, kFinish, kStop };

  void Send(int thread, std::uint64_t word, std::memory_order order) {
    std::atomic<std::uint64_t>& mailbox = words_[static_cast<std::size_t>(thread)];
    const bool relaxed = order == std::memory_order_relaxed;
    mailbox.store(word, relaxed ? std::memory_order_relaxed : std::memory_order_release);
    while (mailbox.load(relaxed ? std::memory_order_relaxed : std::memory_order_acquire) != kIdle) std::this_thread::yield();
  }

  void Work(int thread) {
    std::atomic<std::uint64_t>& mailbox = words_[static_cast<std::size_t>(thread)];
    for (;;) {
      std::uint64_t word = mailbox.load(std::memory_order_relaxed);
      if (word == kIdle) {
        std::this_thread::yield();
        continue;
      }
      const std::uint64_t command = word & 0xff;
      if (command != kApply) word = mailbox.load(std::memory_order_acquire);
      if (command == kStart) subject_->Start(thread);
      if (command == kFinish) subject_->Finish(thread);
      if (command == kApply) {
        Operation operation;
        operation.code = static_cast<std::uint8_t>(word >> 8);
        for (unsigned a = 0; a < kMaxArguments; ++a) operation.arguments[a] = static_cast<std::uint8_t>(word >> (16 + 8 * a));
        subject_->Apply(thread, operation);
      }
      mailbox.store(kIdle, command == kApply ? std::memory_order_relaxed : std::memory_order_release);
      if (command == kStop) return;
    }
  }

  std::unique_ptr<Subject> subject_;
  std::array<std::atomic<std::uint64_t>, kThreads> words_{};
  std::array<std::thread, kThreads> threads_;
};

struct Step {
  int thread;
  Operation operation;
};

// One execution in a process that ends with it; with at most one interleaving.
void Execute(std::string_view twin, const std::vector<Step>& steps, Interleave at = {}, const std::vector<Step>& other = {}) {
  Workers workers;
  interleave = std::move(at);
  interleave.action = [&] {
    for (const Step& step : other) workers.Apply(step.thread, step.operation);
  };
  workers.Start(twin);
  for (const Step& step : steps) workers.Apply(step.thread, step.operation);
  if (interleave.what != nullptr) {
    fprintf(stderr, "the interleaving was not reached\n");
    _Exit(1);
  }
  workers.Finish();
}

class CapsuleTest : public testing::Test {
 protected:
  // Each death test is a process of its own that starts from the beginning: it may have threads and end its interpreter.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CapsuleTest, SafeOperationsInAnyOrderAreClean) {
  const auto run = [] {
    std::vector<Step> steps;
    for (const auto kind : kKindNames) {
      for (const char* layout : {"offset", "transposed"}) {
        const std::vector<Step> round = {
            {0, Export(kind, layout)}, {1, Op("consume")},     {1, Op("read")},        {1, Op("reexport", {1, 1})},
            {2, Op("import", {1})},    {2, Op("read")},        {1, ReleaseDetached()}, {2, Op("export_again", {2})},
            {2, Op("share")},          {0, Op("take")},        {2, Op("forget")},      {0, Op("read")},
            {0, Op("give")},           {0, Op("drop", {0, 1})}};
        steps.insert(steps.end(), round.begin(), round.end());
        if (steps.size() > 60) Execute("safe", steps);
      }
    }
    Execute("safe", steps);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, TheDeleterRunsOnAThreadThatNeverHadAState) {
  EXPECT_EXIT(Execute("safe", {{0, Export("versioned")}, {1, Op("consume")}, {1, Op("release_on_new_thread")}}),
              testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, ALateDeleterLeaksItsOwnerAndReturns) {
  EXPECT_EXIT(Execute("safe", {{0, Export("versioned")}, {1, Op("consume")}, {1, Op("finalize")}}), testing::ExitedWithCode(0),
              "");
}

TEST_F(CapsuleTest, OnlyOneOfTwoConsumersWins) {
  EXPECT_EXIT(Execute("safe", {{0, Export("legacy")}, {0, Op("consume")}, {0, Op("read")}}, {"lock capsule", 0, {}},
                      {{1, Op("consume")}, {1, Op("read")}, {2, Op("drop")}}),
              testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, ARefusedTensorIsDeletedByItsConsumer) {
  EXPECT_EXIT(Execute("safe", {{0, Export("legacy")}, {1, Op("refuse")}, {2, Op("consume")}}), testing::ExitedWithCode(0), "");
}

// --- each twin, by the shortest program and interleaving ---

TEST_F(CapsuleTest, TwinDropIgnoresName) {
  EXPECT_DEATH(Execute("drop_ignores_name", {{0, Export("legacy")}, {1, Op("consume")}, {0, Op("drop")}}), "double-delete R10");
}
TEST_F(CapsuleTest, TwinDropWithoutDelete) {
  EXPECT_DEATH(Execute("drop_without_delete", {{0, Export("legacy")}, {0, Op("drop")}}), "missing-delete R7");
}
TEST_F(CapsuleTest, TwinRenameAfterFailureWindow) {
  EXPECT_DEATH(Execute("rename_after_failure_window", {{0, Export("legacy")}, {1, Op("refuse")}}), "double-delete R10");
}
TEST_F(CapsuleTest, TwinCheckThenRename) {
  EXPECT_DEATH(Execute("check_then_rename", {{0, Export("legacy")}, {0, Op("consume")}}, {"rename", 0, {}}, {{1, Op("consume")}}),
               "double-consume R9");
}
TEST_F(CapsuleTest, TwinReadAfterDeleter) {
  EXPECT_DEATH(Execute("read_after_deleter", {{0, Export("legacy")}, {1, Op("consume")}, {1, Op("release")}}),
               "use-after-delete R2");
}
TEST_F(CapsuleTest, TwinExportWithoutRetain) {
  EXPECT_DEATH(Execute("export_without_retain", {{0, Export("legacy")}}), "delete-while-held R4");
}
TEST_F(CapsuleTest, TwinCapsuleReferenceLeaked) {
  EXPECT_DEATH(Execute("capsule_reference_leaked", {{0, Export("legacy")}, {1, Op("consume")}}), "object-leak");
}
TEST_F(CapsuleTest, TwinByteOffsetIgnored) {
  EXPECT_DEATH(Execute("byte_offset_ignored", {{0, Export("legacy", "offset")}, {1, Op("consume")}, {1, Op("read")}}),
               "wrong-value R20");
}
TEST_F(CapsuleTest, TwinDeleterWithoutThreadState) {
  EXPECT_DEATH(Execute("deleter_without_thread_state", {{0, Export("legacy")}, {1, Op("consume")}, {1, ReleaseDetached()}}),
               "no-thread-state R11");
}
TEST_F(CapsuleTest, TwinDeleterAttachesAfterFinalization) {
  EXPECT_DEATH(Execute("deleter_attaches_after_finalization", {{0, Export("legacy")}, {1, Op("consume")}, {1, Op("finalize")}}),
               "after-finalization R11");
}
TEST_F(CapsuleTest, TwinDestructorClearsException) {
  EXPECT_DEATH(Execute("destructor_clears_exception", {{0, Export("legacy")}, {0, Op("drop", {0, 1})}}),
               "protocol R11a.*cleared");
}
TEST_F(CapsuleTest, TwinDestructorLeavesException) {
  const std::string_view twin = "destructor_leaves_exception";
  EXPECT_DEATH(Execute(twin, {{0, Export("legacy")}, {0, Op("drop", {0, 1})}}), "protocol R11a.*replaced");
  EXPECT_DEATH(Execute(twin, {{0, Export("legacy")}, {0, Op("drop")}}), "protocol R11a.*no operation raised");
  EXPECT_DEATH(Execute(twin, {{0, Export("legacy")}}), "protocol R11a.*does nothing");
}
TEST_F(CapsuleTest, AConsumerMayFailAtEveryStepWithItsExceptionPending) {
  std::vector<Step> steps;
  for (const auto kind : kKindNames) {
    for (const auto step : kStepNames) {
      steps.push_back({0, Export(kind)});
      steps.push_back({1, Op("refuse", {0, ValueOf(kStepNames, step)})});
    }
    if (steps.size() < 40) continue;
    EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "");
    steps.clear();
  }
  EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "");
}

// --- deleters ---

TEST_F(CapsuleTest, ADeferredDeleterIsDrainedByTheNextThreadThatIsAttached) {
  EXPECT_EXIT(Execute("safe", {{0, Export("deferred")}, {1, Op("consume")}, {1, ReleaseDetached()}, {2, Op("read")}}),
              testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, TheDeleterRunsUnderALockOfItsCaller) {
  EXPECT_EXIT(Execute("safe", {{0, Export("versioned")}, {1, Op("consume")}, {1, Op("release", {capsule::kLocked})}}),
              testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, DeletersRunWhileTheInterpreterIsFinalised) {
  EXPECT_EXIT(Execute("safe", {{0, Export("versioned")},
                               {1, Op("import")},
                               {1, Op("export_again")},
                               {0, Op("export", {1, ValueOf(kKindNames, "deferred"), 0, 0})},
                               {2, Op("consume", {1})},
                               {2, Op("finalize", {capsule::kDuring})}}),
              testing::ExitedWithCode(0), "");
}

std::vector<Step> OwnedElsewhere() { return {{0, Op("export_from_subinterpreter")}, {1, Op("consume")}, {1, Op("read")}}; }

TEST_F(CapsuleTest, AnOwnerInASubinterpreterIsDroppedThere) {
  for (const std::uint8_t state : {capsule::kAttached, capsule::kDetached}) {
    std::vector<Step> steps = OwnedElsewhere();
    steps.push_back({1, Op("release", {state})});
    EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "");
  }
  std::vector<Step> steps = OwnedElsewhere();
  steps.push_back({1, Op("release_on_new_thread")});
  EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, AnOwnerWhoseInterpreterIsGoneIsLeaked) {
  for (const std::uint8_t when : {capsule::kAfter, capsule::kDuring}) {
    std::vector<Step> steps = OwnedElsewhere();
    steps.push_back({0, Op("export_from_subinterpreter")});
    steps.push_back({2, Op("finalize", {when})});
    EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "");
  }
}

TEST_F(CapsuleTest, TwinDeleterAttachesMainInterpreter) {
  EXPECT_DEATH(Execute("deleter_attaches_main_interpreter", OwnedElsewhere()), "wrong-interpreter R11");
}

TEST_F(CapsuleTest, TwinQueueLoadsThenClears) {
  EXPECT_DEATH(
      Execute("queue_loads_then_clears", {{0, Export("deferred")}, {1, Op("consume")}, {1, ReleaseDetached()}, {0, Op("read")}},
              {"clear queue", 0, {}}, {{2, Op("read")}}),
      "heap-use-after-free|data race");
}

// --- the C exchange API ---

Operation Api(capsule::Action action, std::string_view kind = "versioned") {
  return Op("api", {action, ValueOf(kKindNames, kind)});
}

#if DLPACK_MINOR_VERSION >= 2
TEST_F(CapsuleTest, TheExchangeApiKeepsItsRules) {
  const auto run = [] {
    std::vector<Step> steps;
    for (const auto kind : kKindNames) {
      const std::vector<Step> round = {{0, Api(capsule::kApiImport, kind)}, {0, Op("read")},
                                       {0, Api(capsule::kApiWrap, kind)},   {0, Op("read")},
                                       {0, Api(capsule::kApiBorrow, kind)}, {0, Op("forget")}};
      steps.insert(steps.end(), round.begin(), round.end());
    }
    steps.push_back({1, Api(capsule::kApiAllocate)});
    steps.push_back({1, Op("read")});
    steps.push_back({1, Api(capsule::kApiAllocateElsewhere)});
    steps.push_back({2, Op("export", {0, ValueOf(kKindNames, "versioned"), 0, ValueOf(kElementTypeNames, "int4_padded")})});
    steps.push_back({2, Op("import")});
    steps.push_back({2, Api(capsule::kApiBorrow)});
    Execute("safe", steps);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, ExchangeApiTwins) {
  EXPECT_DEATH(Execute("api_in_wrong_capsule", {{0, Api(capsule::kApiImport)}}), "protocol R33:");
  EXPECT_DEATH(Execute("api_lacks_function", {{0, Api(capsule::kApiImport)}}), "protocol R34:");
  EXPECT_DEATH(Execute("api_major_ignored", {{0, Api(capsule::kApiImport, "next_major")}}), "protocol R35:");
  EXPECT_DEATH(Execute("api_error_without_exception", {{0, Api(capsule::kApiAllocateElsewhere)}}), "protocol R37:");
  EXPECT_DEATH(Execute("api_view_outlives_object", {{0, Api(capsule::kApiBorrow)}}), "use-after-delete R38:");
  EXPECT_DEATH(Execute("api_keeps_stolen_tensor", {{0, Api(capsule::kApiImport)}, {0, Api(capsule::kApiWrap)}}),
               "double-delete R39:");
  EXPECT_DEATH(Execute("allocator_forgets_error", {{0, Api(capsule::kApiAllocateElsewhere)}}), "protocol R40:");
}
#endif

// --- negotiation ---

Operation Ask(std::string_view version, std::string_view device, std::string_view copy, std::string_view stream) {
  return Op("negotiate", {ValueOf(kVersionNames, version), ValueOf(kDeviceNames, device), ValueOf(kCopyNames, copy),
                          ValueOf(kStreamNames, stream)});
}

// As many as fit into one execution: each version and device, asked of an array that is read-only and of one that is not.
std::vector<Step> QuestionsWith(std::string_view copy, std::string_view stream) {
  std::vector<Step> steps = {{0, Export("read_only")}, {1, Op("import")}};
  int thread = 0;
  for (const auto version : kVersionNames) {
    for (const auto device : kDeviceNames) steps.push_back({++thread % 2, Ask(version, device, copy, stream)});
    ++thread;
  }
  return steps;
}

TEST_F(CapsuleTest, EveryQuestionIsAnsweredByTheRules) {
  for (const auto copy : kCopyNames) {
    for (const auto stream : kStreamNames) {
      EXPECT_EXIT(Execute("safe", QuestionsWith(copy, stream)), testing::ExitedWithCode(0), "");
    }
  }
}

TEST_F(CapsuleTest, EveryKindOfArrayAnswersByTheRules) {
  for (const auto kind : kKindNames) {
    std::vector<Step> steps = {{0, Api(capsule::kApiAllocateElsewhere, kind)}};  // makes an array of this kind
    for (const auto version : kVersionNames) {
      for (const auto copy : kCopyNames) steps.push_back({0, Ask(version, "absent", copy, "absent")});
    }
    EXPECT_EXIT(Execute("safe", steps), testing::ExitedWithCode(0), "") << kind;
  }
}

TEST_F(CapsuleTest, NegotiationTwins) {
  const std::array<std::tuple<std::string_view, Operation, const char*>, 10> twins = {{
      {"copy_false_refused", Ask("same", "absent", "false", "absent"), "protocol R28:"},
      {"max_version_ignored", Ask("none", "absent", "absent", "absent"), "protocol R15:"},
      {"wrong_error_class", Ask("same", "other", "absent", "absent"), "protocol R23:"},
      {"copy_ignored", Ask("same", "absent", "true", "absent"), "protocol R22:"},
      {"copied_flag_missing", Ask("newer", "cpu", "true", "none"), "protocol R24:"},
      {"stream_ignored", Ask("same", "absent", "absent", "zero"), "protocol R26:"},
      {"stream_ignored", Ask("same", "absent", "absent", "minus_one"), "protocol R26:"},
      {"keywords_not_retried", Export("no_keywords"), "protocol R25:"},
      {"missing_method_disguised", Op("import_stranger"), "protocol R28:"},
      {"unknown_keyword_ignored", Ask("same", "absent", "absent", "unknown_keyword"), "protocol R25:"},
  }};
  for (const auto& [twin, question, expected] : twins) {
    EXPECT_DEATH(Execute(twin, {{0, question}}), expected);
    EXPECT_EXIT(Execute("safe", {{0, question}}), testing::ExitedWithCode(0), "");
  }
}

TEST_F(CapsuleTest, TwinReadOnlyFlagLost) {
  const std::vector<Step> steps = {{0, Export("read_only")}, {1, Op("import")}, {1, Ask("none", "absent", "absent", "absent")}};
  EXPECT_DEATH(Execute("read_only_flag_lost", steps), "protocol R32:");
}

TEST_F(CapsuleTest, AKeptCapsuleIsConsumedOnce) {
  const Operation again = Op("export_again");
  EXPECT_EXIT(Execute("safe", {{0, Api(capsule::kApiImport, "cached")}, {0, Op("share")}, {1, Op("take")}, {0, again}},
                      {"lock array", 1, {}}, {{1, Op("export_again", {1})}, {2, Op("consume")}, {2, Op("consume", {1})}}),
              testing::ExitedWithCode(0), "");
}

TEST_F(CapsuleTest, TwinReadOnlyWritten) {
  EXPECT_DEATH(Execute("read_only_written", {{0, Export("read_only")}, {1, Op("consume")}, {1, Op("write")}}), "protocol R30:");
}
TEST_F(CapsuleTest, TwinCopiedFlagOnOwnMemory) {
  const std::vector<Step> steps = {{0, Api(capsule::kApiImport, "copied")}, {0, Op("export_again", {1})}};
  EXPECT_DEATH(Execute("copied_flag_on_own_memory", steps), "protocol R24:");
}
TEST_F(CapsuleTest, TwinCachedCapsuleUnlocked) {
  const std::vector<Step> steps = {
      {0, Api(capsule::kApiImport, "cached")}, {0, Op("share")}, {1, Op("take")}, {0, Op("export_again")}};
  EXPECT_DEATH(Execute("cached_capsule_unlocked", steps, {"make capsule", 0, {}}, {{1, Op("export_again", {1})}}),
               "leak|missing");
}

#ifdef HANDOFF_TSAN
TEST_F(CapsuleTest, ThreadSanitizerSeesTheRaceOnTheName) {
  EXPECT_EXIT(
      Execute("check_then_rename", {{0, Export("legacy")}, {0, Op("consume")}}, {"get pointer", 0, {}}, {{1, Op("consume")}}),
      testing::ExitedWithCode(66), "data race.*PyCapsule_");
}
#endif

}  // namespace
}  // namespace handoff::dlpack
