#include "harness/subjects/dlpack/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "harness/oracle/ledger.h"
#include "harness/subjects/dlpack/interleave.h"
#include "harness/subjects/dlpack/operation_names.h"

namespace handoff::dlpack {
namespace {

Operation Op(std::string_view name, std::array<std::uint8_t, kMaxArguments> arguments = {}) {
  return OperationNamed(Exchange::Operations(), name, arguments);
}
Operation Export(std::string_view kind, std::string_view layout = "vector", std::string_view type = "int32") {
  return Op("export", {0, ValueOf(kNativeKindNames, kind), ValueOf(kLayoutNames, layout), ValueOf(kElementTypeNames, type)});
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

struct Step {
  int thread;
  Operation operation;
};

// One execution, with at most one interleaving.
void Execute(std::string_view twin, const std::vector<Step>& steps, Interleave at = {}, const std::vector<Step>& other = {}) {
  const auto subject = Exchange::Make(TwinNamed(Exchange::Twins(), twin));
  subject->Begin(Case{.threads = std::vector<std::vector<Operation>>(kMaxThreads)});
  if (at.what != nullptr) {
    at.action = [&] {
      for (const Step& step : other) subject->Apply(step.thread, step.operation);
    };
  }
  interleave = std::move(at);
  for (const Step& step : steps) subject->Apply(step.thread, step.operation);
  EXPECT_EQ(interleave.what, nullptr) << "the interleaving was not reached";
  subject->End();
}

TEST(ExchangeTest, EveryKindLayoutAndTypeKeepsItsValues) {
  for (const auto kind : kNativeKindNames) {
    for (const auto layout : kLayoutNames) {
      for (const auto type : kElementTypeNames)
        Execute("safe", {{0, Export(kind, layout, type)}, {1, Op("consume")}, {1, Op("read")}});
    }
  }
}

TEST(ExchangeTest, TheOnlyHolderOfACopyChangesItsElements) {
  for (const auto layout : kLayoutNames) {
    for (const auto type : kElementTypeNames) {
      Execute("safe", {{0, Export("copied", layout, type)},
                       {1, Op("consume")},
                       {1, Op("write")},
                       {1, Op("read")},
                       {1, Op("reexport", {1, ValueOf(kNativeKindNames, "copied")})},
                       {1, Op("write")},
                       {2, Op("consume", {1})},
                       {2, Op("read")}});
    }
  }
}

TEST(ExchangeTest, WhoeverSharesAnArrayOrMayOnlyReadItLeavesItAlone) {
  for (const auto kind : kNativeKindNames) {
    Execute("safe",
            {{0, Export(kind)}, {1, Op("consume")}, {1, Op("share")}, {1, Op("write")}, {2, Op("take")}, {2, Op("read")}});
    if (kind != "copied") Execute("safe", {{0, Export(kind)}, {1, Op("consume")}, {1, Op("write")}, {1, Op("read")}});
  }
}

TEST(ExchangeTest, AReexportShowsTheSameValuesAndOutlivesItsOriginal) {
  for (const auto first : kNativeKindNames) {
    for (const auto second : kNativeKindNames) {
      for (const auto layout : kLayoutNames) {
        Execute("safe", {{0, Export(first, layout)},
                         {1, Op("consume")},
                         {1, Op("reexport", {1, ValueOf(kNativeKindNames, second)})},
                         {1, Op("release")},
                         {2, Op("consume", {1})},
                         {2, Op("read")}});
      }
    }
  }
}

TEST(ExchangeTest, HandlesAreDroppedUsedUnusedAndEmpty) {
  Execute(
      "safe",
      {{0, Op("drop")}, {0, Export("legacy")}, {1, Op("drop")}, {0, Export("versioned")}, {1, Op("consume")}, {0, Op("drop")}});
}

TEST(ExchangeTest, AnOccupiedHandleRefusesASecondTensor) {
  Execute("safe", {{0, Export("legacy")}, {1, Export("versioned")}, {1, Op("consume")}, {1, Op("consume")}, {1, Op("read")}});
}

TEST(ExchangeTest, ArraysTravelThroughBoxes) {
  Execute("safe", {{0, Export("versioned")},
                   {0, Op("consume")},
                   {0, Op("share")},
                   {1, Op("take")},
                   {0, Op("release")},
                   {1, Op("read")},
                   {1, Op("give")},
                   {2, Op("share")},
                   {2, Op("take")}});
}

TEST(ExchangeTest, AReadOnlyArrayIsNotReexportedAsLegacy) {
  const auto subject = Exchange::Make(-1);
  subject->Begin(Case{.threads = std::vector<std::vector<Operation>>(kMaxThreads)});
  subject->Apply(0, Export("read_only"));
  subject->Apply(0, Op("consume"));
  subject->Apply(0, Op("reexport", {1, ValueOf(kNativeKindNames, "legacy")}));
  subject->Apply(0, Op("release"));
  EXPECT_FALSE(ledger::Outstanding());  // a second tensor would still be in handle 1, or keep the first one alive
  subject->End();
}

TEST(ExchangeTest, AConsumerMayFailAtEveryStep) {
  for (const auto step : kStepNames) {
    for (const auto kind : kNativeKindNames) {
      Execute("safe",
              {{0, Export(kind)}, {1, Op("refuse", {0, ValueOf(kStepNames, step)})}, {0, Op("consume")}, {0, Op("drop")}});
    }
  }
}

TEST(ExchangeTest, ATensorWithoutDeleterOutlivesItsUsers) {
  Execute("safe", {{0, Export("no_deleter")},
                   {0, Op("consume")},
                   {0, Op("reexport", {1, ValueOf(kNativeKindNames, "no_deleter")})},
                   {1, Op("consume", {1})},
                   {0, Op("release")},
                   {1, Op("read")}});
}

TEST(ExchangeTest, OnlyOneOfTwoConsumersWins) {
  for (const char* point : {"look at name", "claim handle", "name handle"}) {
    // Without the export's own claims: two of them come before.
    const int skip = std::string_view(point) == "look at name" ? 0 : 1;
    Execute("safe", {{0, Export("legacy")}, {0, Op("consume")}, {0, Op("read")}}, {point, skip, {}},
            {{1, Op("consume")}, {1, Op("read")}, {1, Op("drop")}, {1, Export("versioned")}});
  }
}

// --- each twin, by the shortest program and interleaving ---

std::vector<Step> ConsumeAndRead() { return {{0, Export("legacy")}, {1, Op("consume")}, {1, Op("read")}}; }

TEST(ExchangeTwinTest, DropIgnoresName) {
  EXPECT_DEATH(Execute("drop_ignores_name", {{0, Export("legacy")}, {1, Op("consume")}, {0, Op("drop")}}), "double-delete R10");
}
TEST(ExchangeTwinTest, DropWithoutDelete) {
  EXPECT_DEATH(Execute("drop_without_delete", {{0, Export("legacy")}, {0, Op("drop")}}), "missing-delete R7");
}
TEST(ExchangeTwinTest, RenameAfterFailureWindow) {
  EXPECT_DEATH(Execute("rename_after_failure_window", {{0, Export("legacy")}, {1, Op("refuse")}}), "double-delete R10");
  Execute("safe", {{0, Export("legacy")}, {1, Op("refuse")}});
}
TEST(ExchangeTwinTest, CheckThenRename) {
  EXPECT_DEATH(Execute("check_then_rename", {{0, Export("legacy")}, {0, Op("consume")}}, {"rename", 0, {}}, {{1, Op("consume")}}),
               "double-consume R9");
}
TEST(ExchangeTwinTest, ReadAfterDeleter) {
  EXPECT_DEATH(Execute("read_after_deleter", {{0, Export("legacy")}, {1, Op("consume")}, {1, Op("release")}}),
               "use-after-delete R2");
}
TEST(ExchangeTwinTest, ExportWithoutRetain) {
  EXPECT_DEATH(Execute("export_without_retain", {{0, Export("legacy")}}), "delete-while-held R4");
}
TEST(ExchangeTwinTest, TakeLoadsThenClears) {
  if (!kSanitized) GTEST_SKIP() << "a freed array is read: only a sanitizer is sure to notice";
  const std::vector<Step> steps = {{0, Export("legacy")}, {0, Op("consume")}, {0, Op("give")}, {0, Op("take")}};
  const auto run = [&] {
    Execute("take_loads_then_clears", steps, {"clear box", 0, {}}, {{1, Op("take")}, {1, Op("release")}});
    exit(0);  // ThreadSanitizer makes it 66 if it has reported
  };
  EXPECT_DEATH(run(), "heap-use-after-free|verdict: ");
}
TEST(ExchangeTwinTest, ByteOffsetIgnored) {
  Execute("byte_offset_ignored", ConsumeAndRead());  // no offset, nothing to see
  EXPECT_DEATH(Execute("byte_offset_ignored", {{0, Export("legacy", "offset")}, {1, Op("consume")}, {1, Op("read")}}),
               "wrong-value R20");
}
TEST(ExchangeTwinTest, StridesIgnored) {
  Execute("strides_ignored", ConsumeAndRead());
  for (const char* layout : {"sliced", "transposed", "reversed", "broadcast"}) {
    EXPECT_DEATH(Execute("strides_ignored", {{0, Export("legacy", layout)}, {1, Op("consume")}, {1, Op("read")}}),
                 "wrong-value R19");
  }
}
TEST(ExchangeTwinTest, MajorIgnored) {
  EXPECT_DEATH(Execute("major_ignored", {{0, Export("next_major")}, {1, Op("consume")}}), "protocol R12");
  EXPECT_DEATH(Execute("major_ignored", {{0, Export("major_zero")}, {1, Op("consume")}}), "protocol R12");
}

TEST(ExchangeTwinTest, RefuseWithoutDelete) {
  EXPECT_DEATH(Execute("refuse_without_delete", {{0, Export("legacy")}, {1, Op("refuse")}}), "missing-delete R3");
}
TEST(ExchangeTwinTest, UncheckedImport) {
  const std::array<std::array<std::string_view, 2>, 7> wrong = {{{"other_device", "R23"},
                                                                 {"device_number", "R21a"},
                                                                 {"negative_rank", "R16"},
                                                                 {"high_rank", "R16"},
                                                                 {"unknown", "R13"},
                                                                 {"float4_wide", "R21"},
                                                                 {"lanes", "R21"}}};
  for (const auto& [what, rule] : wrong) {
    const bool is_kind = std::find(kNativeKindNames.begin(), kNativeKindNames.end(), what) != kNativeKindNames.end();
    const Operation exported = is_kind ? Export(what) : Export("versioned", "vector", what);
    const std::string expected = "protocol " + std::string(rule) + ":";
    EXPECT_DEATH(Execute("unchecked_import", {{0, exported}, {1, Op("consume")}}), expected);
  }
}
TEST(ExchangeTwinTest, PaddingIgnored) {
  EXPECT_DEATH(
      Execute("padding_ignored", {{0, Export("versioned", "vector", "int4_padded")}, {1, Op("consume")}, {1, Op("read")}}),
      "wrong-value R21");
}
TEST(ExchangeTwinTest, NullDeleterCalled) {
  EXPECT_DEATH(Execute("null_deleter_called", {{0, Export("no_deleter")}, {0, Op("drop")}}), "protocol R1:");
}

TEST(ExchangeTwinTest, ReadOnlyWritten) {
  const std::vector<Step> steps = {{0, Export("read_only")}, {1, Op("consume")}, {1, Op("write")}};
  EXPECT_DEATH(Execute("read_only_written", steps), "protocol R30:");
}
TEST(ExchangeTwinTest, ReadOnlyFlagMissing) {
  const Operation reexport = Op("reexport", {1, ValueOf(kNativeKindNames, "versioned")});
  EXPECT_DEATH(Execute("read_only_flag_missing", {{0, Export("read_only")}, {1, Op("consume")}, {1, reexport}}),
               "protocol R30:.*exported without the flags 0x1");
}
TEST(ExchangeTwinTest, CopiedFlagOnOwnMemory) {
  const Operation reexport = Op("reexport", {1, ValueOf(kNativeKindNames, "copied")});
  EXPECT_DEATH(Execute("copied_flag_on_own_memory", {{0, Export("versioned")}, {1, Op("consume")}, {1, reexport}}),
               "protocol R24:");
}

// --- real threads ---

// Thread 1 begins when thread 0 has ended, but nothing that ThreadSanitizer sees says so.
int InTurn(std::string_view twin, const std::vector<Step>& steps) {
  const auto subject = Exchange::Make(TwinNamed(Exchange::Twins(), twin));
  subject->Begin(Case{.threads = std::vector<std::vector<Operation>>(kMaxThreads)});
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      while (turn.load(std::memory_order_relaxed) != t) std::this_thread::yield();
      for (const Step& step : steps) {
        if (step.thread == t) subject->Apply(t, step.operation);
      }
      turn.store(t + 1, std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  subject->End();
  exit(0);  // ThreadSanitizer makes it 66 if it has reported
}

TEST(ExchangeThreadsTest, TheSafeOneHasNoRace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(InTurn("safe", ConsumeAndRead()), testing::ExitedWithCode(0), "");
}

#ifdef HANDOFF_TSAN
TEST(ExchangeThreadsTest, ThreadSanitizerSeesTheMemoryOrderTwins) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(InTurn("relaxed_publish", ConsumeAndRead()), testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT(InTurn("check_then_rename", {{0, Export("legacy")}, {0, Op("consume")}, {1, Op("drop")}}),
              testing::ExitedWithCode(66), "data race");
  const std::vector<Step> shared = {{0, Export("legacy")}, {0, Op("consume")}, {0, Op("share")},  {0, Op("read")},
                                    {0, Op("release")},    {1, Op("take")},    {1, Op("release")}};
  EXPECT_EXIT(InTurn("relaxed_last_reference", shared), testing::ExitedWithCode(66), "data race");
  EXPECT_EXIT(InTurn("safe", shared), testing::ExitedWithCode(0), "");
}
#endif

TEST(ExchangeThreadsTest, RandomProgramsOfThreeFreeThreadsAreClean) {
  constexpr int kThreads = 3;
  constexpr int kPrograms = 200;
  const auto operations = Exchange::Operations().operations;
  const auto subject = Exchange::Make(-1);
  for (unsigned program = 0; program < kPrograms; ++program) {
    subject->Begin(Case{.threads = std::vector<std::vector<Operation>>(kMaxThreads)});
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, state = program * kThreads + static_cast<unsigned>(t)]() mutable {
        const auto next = [&state](std::size_t bound) {
          state = state * 1664525 + 1013904223;
          return (state >> 16) % bound;
        };
        for (int i = 0; i < 12; ++i) {
          Operation op;
          op.code = static_cast<std::uint8_t>(next(operations.size()));
          const OperationKind& kind = operations[op.code];
          for (std::size_t a = 0; std::cmp_less(a, kind.argument_count); ++a) {
            op.arguments[a] = static_cast<std::uint8_t>(next(static_cast<std::size_t>(kind.arguments[a].values)));
          }
          subject->Apply(t, op);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    subject->End();
  }
}

}  // namespace
}  // namespace handoff::dlpack
