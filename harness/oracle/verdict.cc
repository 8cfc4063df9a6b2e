#include "harness/oracle/verdict.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace handoff::oracle {
namespace {

constexpr int kMaxDetail = 2001;  // 2,000 characters and the terminator

// Written once before there are threads, read by whoever fails.
VerdictHandler current_handler = nullptr;

}  // namespace

void SetVerdictHandler(VerdictHandler handler) { __atomic_store_n(&current_handler, handler, __ATOMIC_RELEASE); }

// NOLINTNEXTLINE(modernize-avoid-variadic-functions): templates would be weak symbols.
void Fail(const char* kind, const char* rule, const char* format, ...) {
  // On this stack, since two threads that run freely may fail at the same time.
  char detail[kMaxDetail];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  const Verdict verdict{kind, rule, detail};
  if (const VerdictHandler handler = __atomic_load_n(&current_handler, __ATOMIC_ACQUIRE)) handler(verdict);
  fprintf(stderr, "verdict: %s%s%s: %s\n", kind, rule[0] == '\0' ? "" : " ", rule, detail);
  abort();
}

}  // namespace handoff::oracle
