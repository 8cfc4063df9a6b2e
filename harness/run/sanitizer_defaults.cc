#include "harness/run/sanitizer_defaults.h"

extern "C" {
const char* __tsan_default_options();
const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_suppressions();
int __lsan_is_turned_off();
}

// halt_on_error: without it libFuzzer would write an empty file for a race. report_signal_unsafe=0: else a fatal signal can hang
// in a report about its own handler. handle_abort: an abort shows its stack. atexit_sleep_ms: TSan would sleep a second at each
// exit. die_after_fork=0: cold runs are forks of a process that never had a second thread, and start their threads afterwards.
const char* __tsan_default_options() {
  return "halt_on_error=1:exitcode=77:handle_abort=1:report_signal_unsafe=0:report_thread_leaks=0:atexit_sleep_ms=0:"
         "second_deadlock_stack=1:die_after_fork=0:allocator_may_return_null=1";
}

// detect_leaks=0: leaks are judged by our ledger, since LeakSanitizer does not know CPython's heap (it reports what a live
// capsule holds, and misses what is lost). The DEDUP_TOKEN of a finding is ours.
const char* __asan_default_options() {
  return "exitcode=77:handle_abort=1:detect_leaks=0:detect_stack_use_after_return=1:dedup_token_length=0:"
         "allocator_may_return_null=1";
}

const char* __ubsan_default_options() { return "halt_on_error=1:exitcode=77:print_stacktrace=1:handle_abort=1"; }

// Even where a service turns leak detection on by option.
int __lsan_is_turned_off() { return 1; }

// Reports inside CPython 3.13 that its developers know of: all functions but the first stand in their own list, python/cpython
// 3.13, Tools/tsan/suppressions_free_threading.txt. A line goes when the version that has the repair is the oldest we support.
// race_top only: `race` would hide every race below a function. But for that first line none may name code of ours.
const char* __tsan_default_suppressions() {
  return
      // Ours: fibers share the thread-locals in which libstdc++'s call_once hands its callable over. They are saved at each
      // change of fibers (harness/schedule/fiber.h), which TSan does not see.
      "race_top:std::once_flag::_Prepare_execution\n"
      // Type caches: version tags and slots of types (gh-127266) are set without a lock and read by other threads.
      "race_top:assign_version_tag\n"
      "race_top:type_modified_unlocked\n"
      "race_top:update_one_slot\n"
      "race_top:_Py_slot_tp_getattr_hook\n"
      // Reference counts of a fresh object, against a reader that tries a reference to what was there before.
      "race_top:new_reference\n"
      // Lock-free reads of a list's item and of an instance's inline values.
      "race_top:list_get_item_ref\n"
      "race_top:_PyObject_TryGetInstanceAttribute\n"
      // The list of thread states, walked while threads come and go.
      "race_top:add_threadstate\n"
      "race_top:tstate_delete_common\n"
      "race_top:tstate_is_freed\n"
      "race_top:PyThreadState_Clear\n"
      "race_top:PyThreadState_Next\n"
      "race_top:PyInterpreterState_ThreadHead\n"
      // Frames, looked at by other threads' tracebacks.
      "race_top:_PyFrame_GetCode\n"
      "race_top:_PyFrame_Initialize\n"
      "race_top:PyUnstable_InterpreterFrame_GetLine\n"
      // Allocator hooks, read without the lock that writes them.
      "race_top:get_allocator_unlocked\n"
      "race_top:set_allocator_unlocked\n"
      // The owner of the import lock.
      "race_top:write_thread_id\n";
}

namespace handoff {
void KeepSanitizerDefaults() {}
}  // namespace handoff
