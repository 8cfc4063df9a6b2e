#include "harness/schedule/signal_stack.h"

#include <csignal>
#include <cstddef>

#include "harness/schedule/plan.h"
#include "harness/schedule/raw_syscall.h"

namespace handoff::schedule {

void EnsureSignalStack(int number) {
  constexpr std::size_t kBytes = std::size_t{64} * 1024;
  static char stacks[kMaxControlled + 1][kBytes];
  stack_t current = {};
  RawSyscall(SYS_sigaltstack, 0, Word(&current));
  if ((current.ss_flags & SS_DISABLE) == 0) return;
  stack_t ours = {.ss_sp = stacks[number + 1], .ss_flags = 0, .ss_size = kBytes};
  RawSyscall(SYS_sigaltstack, Word(&ours), 0);
}

}  // namespace handoff::schedule
