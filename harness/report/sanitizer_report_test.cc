#include "harness/report/sanitizer_report.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/testing/golden.h"

namespace handoff {
namespace {

// "kind | access in module:function by thread | ..." of a report in testdata/.
std::string Summary(const std::string& file) {
  const std::optional<SanitizerReport> report = ParseSanitizerReport(ReadTestFile("testdata/" + file), "program");
  if (!report) return "no report";
  std::string text = report->kind;
  for (const Site& site : report->sites) {
    text += " | " + site.access + " in " + site.module + ":" + site.function + " by " + std::to_string(site.reported);
  }
  return text;
}

TEST(SanitizerReport, ARaceHasTwoSitesTheFailingOneFirst) {
  EXPECT_EQ(
      Summary("tsan_data_race.txt"),
      "data-race | read in race.t:handoff::dlpack::Capsule::Read by 2 | write in race.t:handoff::dlpack::Capsule::Rename by 1");
}

TEST(SanitizerReport, AnAccessInsideTheCLibraryBelongsToItsCaller) {
  EXPECT_EQ(Summary("tsan_data_race_memcpy.txt"), "data-race | write in memcpy.t:Clear by 2 | write in memcpy.t:Fill by 1");
}

TEST(SanitizerReport, AtomicAccessesAreNamedAsSuch) {
  EXPECT_EQ(Summary("tsan_data_race_atomic.txt"), "data-race | write in atomic.t:Plain by 2 | atomic write in atomic.t:Inc by 1");
}

TEST(SanitizerReport, AWriteByDeleteIsAFree) {
  EXPECT_EQ(Summary("tsan_data_race_free.txt"), "data-race | free in freerace.t:Delete by 2 | read in freerace.t:Use by 0");
  EXPECT_EQ(Summary("tsan_use_after_free.txt"), "heap-use-after-free | read in free.t:Use by 0 | free in free.t:Delete by 1");
}

TEST(SanitizerReport, OnlyTheFirstOfSeveralReportsIsRead) {
  const std::string text = ReadTestFile("testdata/tsan_two_reports.txt");
  const std::optional<SanitizerReport> report = ParseSanitizerReport("before\n" + text, "program");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->kind, "heap-use-after-free");
  ASSERT_EQ(report->sites.size(), 2U);
  EXPECT_EQ(report->sites[0].function, "main::$_0::operator()");
  EXPECT_EQ(report->sites[1].function, "D::~D");
  EXPECT_EQ(report->text.find("WARNING"), 0U);
  EXPECT_EQ(report->text.find("D::F()"), std::string::npos) << "that is the second report";
}

TEST(SanitizerReport, ALockInversionHasASiteForEachLock) {
  EXPECT_EQ(Summary("tsan_lock_order.txt"), "lock-order-inversion | lock in lock.t:AB by 1 | lock in lock.t:BA by 2");
}

TEST(SanitizerReport, AMisusedMutexHasTheCallerAsItsSite) {
  EXPECT_EQ(Summary("tsan_unlock.txt"), "unlock-of-an-unlocked-mutex |  in dblUNLOCK.t:Twice by -1");
}

TEST(SanitizerReport, FatalSignalsAreErrors) {
  EXPECT_EQ(Summary("tsan_segv.txt"), "segv | write in segv.t:Poke by -1");
  EXPECT_EQ(Summary("asan_no_function.txt"), "stack-overflow |  in program:__libc_start_call_main by -1");
}

TEST(SanitizerReport, MemoryErrorsHaveTheAccessAndWhoFreed) {
  EXPECT_EQ(Summary("asan_use_after_free.txt"),
            "heap-use-after-free | read in program:Use by 0 | free in free.a:operator delete by 1");
  EXPECT_EQ(Summary("asan_use_after_poison.txt"), "use-after-poison | write in program:Poke by 0");
  EXPECT_EQ(Summary("asan_overflow_memcpy.txt"), "heap-buffer-overflow | write in program:Copy by 0");
  EXPECT_EQ(Summary("asan_double_free.txt"), "double-free | free in program:main by 0 | free in program:main by 0");
  EXPECT_EQ(Summary("asan_bad_free.txt"), "bad-free | free in program:main by 0");
  EXPECT_EQ(Summary("lsan_leak.txt"), "memory-leak |  in program:main by -1");
}

TEST(SanitizerReport, BothFormsOfStackLinesAreRead) {
  EXPECT_EQ(Summary("asan_with_modules.txt"),
            "heap-use-after-free | read in free.a:Use by 0 | free in free.a:operator delete by 1");
}

TEST(SanitizerReport, UndefinedBehaviourIsNamedWithoutItsValues) {
  EXPECT_EQ(Summary("ubsan_overflow.txt"), "ub-signed-integer-overflow |  in program:main by -1");
}

TEST(SanitizerReport, AFatalErrorGoesBeforeUndefinedBehaviourThatWentOn) {
  EXPECT_EQ(Summary("ubsan_then_segv.txt"), "segv | write in program:Poke by -1");
}

TEST(SanitizerReport, TheKindIsTheReportsWithoutValues) {
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"WARNING: ThreadSanitizer: data race on vptr (ctor/dtor vs virtual call) (pid=7)", "data-race-on-vptr"},
      {"WARNING: ThreadSanitizer: double lock of a mutex (pid=7)", "double-lock-of-a-mutex"},
      {"WARNING: ThreadSanitizer: signal-unsafe call inside of a signal (pid=7)", "signal-unsafe-call-inside-of-a-signal"},
      {"==7==ERROR: AddressSanitizer: alloc-dealloc-mismatch (malloc vs operator delete) on 0x7b6b", "alloc-dealloc-mismatch"},
      {"==7==ERROR: AddressSanitizer: negative-size-param: (size=-1)", "negative-size-param"},
      {"==7==ERROR: AddressSanitizer: requested allocation size 0x4000 (0x4008 after) exceeds", "allocation-size-too-big"},
      {"==7==ERROR: AddressSanitizer: FPE on unknown address 0x559b10b66061 (pc 0x559b10b66061)", "fpe"},
      {"a.cc:5:53: runtime error: member access within null pointer of type 'S'", "ub-member-access-within-null-pointer"},
      {"a.cc:5:50: runtime error: applying non-zero offset 8 to null pointer", "ub-applying-non-zero-offset-to-null-pointer"},
      {"a.cc:5:50: runtime error: shift exponent 40 is too large for 32-bit type 'int'", "ub-shift-exponent-is-too-large-for"},
  };
  for (const auto& [header, kind] : headers) {
    const std::optional<SanitizerReport> report = ParseSanitizerReport(header, "program");
    ASSERT_TRUE(report.has_value()) << header;
    EXPECT_EQ(report->kind, kind);
    EXPECT_TRUE(report->sites.empty());
  }
}

TEST(SanitizerReport, AStackThatIsLostIsANamelessSite) {
  const std::string text =
      "WARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 8 at 0x7b by thread T2:\n    #0 F(int) /src/a.cc:1:2 "
      "(m.cpython-313t-x86_64-linux-gnu.so+0x12)\n\n  Previous write of size 8 at 0x7b by thread T1:\n    [failed to restore the "
      "stack]\n";
  const std::optional<SanitizerReport> report = ParseSanitizerReport(text, "program");
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->sites.size(), 2U);
  EXPECT_EQ(report->sites[0].module, "m");
  EXPECT_EQ(report->sites[0].function, "F");
  EXPECT_EQ(report->sites[1].function, "");
  EXPECT_EQ(report->sites[1].access, "write");
}

TEST(SanitizerReport, TextWithoutAReportIsNone) {
  EXPECT_FALSE(ParseSanitizerReport("", "program").has_value());
  EXPECT_FALSE(ParseSanitizerReport("#1 INITED cov: 5\nAssertion failed: x\n", "program").has_value());
}

}  // namespace
}  // namespace handoff
