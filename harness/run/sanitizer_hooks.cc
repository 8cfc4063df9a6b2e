// What the sanitizers call when they have something to say. The runtimes are found by weak references: a build without one of
// them just does not have those functions.
#include "harness/run/artifact.h"
#include "harness/run/ends.h"
#include "harness/run/ends_state.h"
#include "harness/schedule/scheduler.h"

extern "C" {
__attribute__((weak)) void __sanitizer_set_report_fd(void* file);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
__attribute__((weak)) void __asan_set_error_report_callback(void (*callback)(const char* text));
// Called by AddressSanitizer before it prints. What it calls then (libgcc's unwinder, which has a once-flag) must not be where
// threads switch.
void __asan_on_error();
// Called by TSan after a report is printed and before it halts, with its own locks held.
void __tsan_on_report(void* report);
}

namespace handoff {

namespace {

// The kind is refined from the report's text by whoever reads it (publish.cc); a fatal signal is its own kind.
[[noreturn]] void EndReported(const char* kind) {
  End(EndKind::kFinding, ends.report_kind != nullptr && ends.report_end == EndKind::kFinding ? ends.report_kind : kind, "", "");
}

void OnAsanReport(const char*) { EndReported("memory-error"); }

// A sanitizer ends the process: UBSan's reports, fatal signals under TSan, failed checks of the runtimes themselves. Ours
// replaces libFuzzer's callback, which allocates and can hang.
void OnSanitizerDeath() { EndReported("sanitizer"); }

}  // namespace

void SetReportFile(int file) {
  if (__sanitizer_set_report_fd == nullptr || file < 0) return;
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(file)));  // NOLINT(performance-no-int-to-ptr)
}

void SetSanitizerHooks(int report_file) {
  SetReportFile(report_file);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(OnSanitizerDeath);
  if (__asan_set_error_report_callback != nullptr) __asan_set_error_report_callback(OnAsanReport);
}

}  // namespace handoff

void __asan_on_error() { handoff::schedule::Pause(); }

void __tsan_on_report(void*) { handoff::EndReported("data-race"); }
