// What the sanitizers are told before main. Environment variables (TSAN_OPTIONS, ASAN_OPTIONS, UBSAN_OPTIONS) still win.
//
// In the binary, because fuzzing services pass no options for ThreadSanitizer on.
#pragma once

namespace handoff {

// Does nothing; a reference to it makes the linker take the file with the defaults.
void KeepSanitizerDefaults();

}  // namespace handoff
