#include "harness/report/function_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace handoff {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// Where the bracket opened at `open` is closed, or the end. The '>' of "->" closes nothing.
std::size_t Closing(std::string_view s, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '(' || c == '<' || c == '[') ++depth;
    if (c == ')' || c == ']' || (c == '>' && s[i - 1] != '-')) --depth;
    if (depth == 0) return i;
  }
  return s.size();
}

// Length of the operator's name at `i`, where "operator" stands: with its sign, or with " delete", " new[]", " bool".
std::size_t OperatorLength(std::string_view s, std::size_t i) {
  std::size_t end = i + kOperator.size();
  if (s.substr(end).starts_with("()") || s.substr(end).starts_with("[]")) return kOperator.size() + 2;
  if (end < s.size() && s[end] == ' ') {
    while (end < s.size() && s[end] != '(' && s[end] != '<') ++end;
    return end - i;
  }
  constexpr std::string_view kSigns = "<=>+-*/%^&|~!,\"";
  while (end < s.size() && kSigns.find(s[end]) != std::string_view::npos) ++end;
  return end - i;
}

// ".cold", ".isra.0", ".llvm.123": suffixes of clones. Ordinary names have no dot.
std::string_view WithoutCloneSuffix(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

bool StartsWithAny(std::string_view name, const auto& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](std::string_view p) { return name.starts_with(p); });
}
bool IsAny(std::string_view name, const auto& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::string PlainFunctionName(std::string_view demangled) {
  std::string plain;
  bool after_arguments = false;  // what follows a blank there is " const" or " [clone", not a name behind its return type
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    const std::string_view rest = demangled.substr(i);
    const bool word_starts = i == 0 || !IsWordCharacter(demangled[i - 1]);
    const std::size_t behind = i + kOperator.size();
    if (word_starts && rest.starts_with(kOperator) && (behind >= demangled.size() || !IsWordCharacter(demangled[behind]))) {
      const std::size_t length = OperatorLength(demangled, i);
      plain.append(rest.substr(0, length));
      i += length - 1;
      if (demangled.substr(i + 1).starts_with(" <")) ++i;  // "operator<< <int>": the blank belongs to the name
      after_arguments = false;
    } else if (rest.starts_with(kAnonymous)) {
      plain.append(kAnonymous);
      i += kAnonymous.size() - 1;
      after_arguments = false;
    } else if (demangled[i] == '(' || demangled[i] == '<') {
      after_arguments = after_arguments || demangled[i] == '(';
      i = Closing(demangled, i);
    } else if (demangled[i] == ' ') {
      if (after_arguments) break;
      plain.clear();
    } else {
      after_arguments = false;
      plain += demangled[i];
    }
  }
  return std::string(WithoutCloneSuffix(plain));
}

bool IsFree(std::string_view plain_name) {
  static constexpr std::array kNames = {
      std::string_view("free"),          std::string_view("cfree"),      std::string_view("operator delete"),
      std::string_view("realloc"),       std::string_view("PyMem_Free"), std::string_view("PyMem_RawFree"),
      std::string_view("PyObject_Free"), std::string_view("mi_free"),    std::string_view("operator delete[]")};
  static constexpr std::array kPrefixes = {std::string_view("mi_free_"),         std::string_view("_mi_free"),
                                           std::string_view("_PyMem_MiFree"),    std::string_view("_PyObject_MiFree"),
                                           std::string_view("_PyMem_MiRawFree"), std::string_view("_PyMem_RawFree")};
  for (const std::string_view stand_in : {"__interceptor_", "___interceptor_"}) {
    if (plain_name.starts_with(stand_in)) plain_name.remove_prefix(stand_in.size());
  }
  return IsAny(plain_name, kNames) || StartsWithAny(plain_name, kPrefixes);
}

bool IsPlumbing(std::string_view plain_name) {
  // The C library's functions that the runtimes stand in for, as far as they touch memory or threads.
  static constexpr std::array<std::string_view, 75> kNames = {"malloc",
                                                              "calloc",
                                                              "memcpy",
                                                              "memmove",
                                                              "memset",
                                                              "memcmp",
                                                              "memchr",
                                                              "strlen",
                                                              "strnlen",
                                                              "strcmp",
                                                              "strncmp",
                                                              "strcpy",
                                                              "strncpy",
                                                              "strcat",
                                                              "strdup",
                                                              "strchr",
                                                              "strstr",
                                                              "snprintf",
                                                              "sprintf",
                                                              "vsnprintf",
                                                              "printf",
                                                              "fprintf",
                                                              "read",
                                                              "write",
                                                              "abort",
                                                              "raise",
                                                              "exit",
                                                              "strtol",
                                                              "strtod",
                                                              "bcmp",
                                                              "fwrite",
                                                              "fread",
                                                              "qsort",
                                                              "gsignal",
                                                              "aligned_alloc",
                                                              "posix_memalign",
                                                              "operator new",
                                                              "operator new[]",
                                                              "syscall",
                                                              "pause",
                                                              "sched_yield",
                                                              "nanosleep",
                                                              "clock_nanosleep",
                                                              "usleep",
                                                              "sleep",
                                                              "poll",
                                                              "select",
                                                              "time",
                                                              "clock_gettime",
                                                              "gettimeofday",
                                                              "tgkill",
                                                              "kill",
                                                              "sigwait",
                                                              "sigwaitinfo",
                                                              "sigtimedwait",
                                                              "sigsuspend",
                                                              "ppoll",
                                                              "pselect",
                                                              "timespec_get",
                                                              "call_once",
                                                              "mtx_lock",
                                                              "mtx_trylock",
                                                              "mtx_timedlock",
                                                              "mtx_unlock",
                                                              "cnd_wait",
                                                              "cnd_timedwait",
                                                              "cnd_signal",
                                                              "cnd_broadcast",
                                                              "thrd_create",
                                                              "thrd_join",
                                                              "thrd_exit",
                                                              "thrd_sleep",
                                                              "thrd_yield",
                                                              "asan_thread_start",
                                                              "handoff::(anonymous namespace)::HandleVerdict"};
  static constexpr std::array<std::string_view, 33> kPrefixes = {"__tsan_",
                                                                 "__asan_",
                                                                 "__ubsan_",
                                                                 "__lsan_",
                                                                 "__sanitizer_",
                                                                 "__interceptor_",
                                                                 "___interceptor_",
                                                                 "__handoff_",
                                                                 "__cxa_",
                                                                 "__libc_",
                                                                 "__pthread_",
                                                                 "pthread_",
                                                                 "sem_",
                                                                 "std::",
                                                                 "__gnu_cxx::",
                                                                 "__gthread_",
                                                                 "_Py_atomic_",
                                                                 "mi_",
                                                                 "_mi_",
                                                                 "PyMem_",
                                                                 "_PyMem_",
                                                                 "handoff_",
                                                                 "handoff::schedule::",
                                                                 "handoff::oracle::",
                                                                 "handoff::ledger::",
                                                                 "handoff::lock_order::",
                                                                 "handoff::linearizability::",
                                                                 "handoff::cache::progress::",
                                                                 "handoff::cache::watch::",
                                                                 "handoff::cache::cpython::watch::",
                                                                 "handoff::interpreter::watch::",
                                                                 "handoff::interpreter::release_watch::",
                                                                 "__assert_"};
  static constexpr std::array<std::string_view, 8> kRuntimeSpaces = {
      "__tsan::", "__asan::", "__ubsan::", "__lsan::", "__sanitizer::", "__interception::", "__sancov::", "fuzzer::"};
  return plain_name.empty() || IsFree(plain_name) || IsAny(plain_name, kNames) || StartsWithAny(plain_name, kPrefixes) ||
         StartsWithAny(plain_name, kRuntimeSpaces);
}

bool IsWaiting(std::string_view plain_name) {
  static constexpr std::array<std::string_view, 18> kPrefixes = {"PyGILState_Ensure",  "PyEval_AcquireThread",
                                                                 "_PySemaphore_",      "_PyParkingLot_",
                                                                 "_PyMutex_",          "PyMutex_",
                                                                 "_PyRawMutex_",       "_PyRecursiveMutex_",
                                                                 "_PyRWMutex_",        "PyThread_acquire_lock",
                                                                 "PyEvent_",           "_PyEvent_",
                                                                 "_PyOnceFlag_",       "_PyCriticalSection",
                                                                 "PyCriticalSection",  "_PyThreadState_Attach",
                                                                 "tstate_wait_attach", "PyEval_RestoreThread"};
  return StartsWithAny(plain_name, kPrefixes);
}

bool IsPlumbingModule(std::string_view module) {
  static constexpr std::array<std::string_view, 9> kPrefixes = {"libc.so",  "libc-",    "libstdc++.",  "libc++", "libpthread",
                                                                "ld-linux", "libgcc_s", "libclang_rt", "libm.so"};
  return StartsWithAny(module, kPrefixes);
}

}  // namespace handoff
