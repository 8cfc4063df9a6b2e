// Our functions under the names of the sanitizer's access functions: each counts the thread's budget down, lets the scheduler switch when
// it is used up, and goes on in the real function. The real one is reached by a jump, so that its return address is still the access's and
// the report shows the right line. The runtime's own functions bear the prefix in a private copy of its archive (cmake/ in CMakeLists.txt).
//
// access_names.inc holds one line "HOOK name" for each name of accesses_thread.txt or accesses_address.txt.
#if defined(__x86_64__)

.text

.macro HOOK name
  .globl \name
  .type \name, @function
  .weak __handoff_real_\name
  .p2align 4
\name:
  .cfi_startproc
  subq $1, %fs:handoff_budget@tpoff
  jz 1f
  jmp __handoff_real_\name
1:
  // All argument registers: the access functions take up to six words.
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp  // the stack is aligned to 16 bytes at a call
  .cfi_adjust_cfa_offset 8
  call handoff_preempt
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp __handoff_real_\name
  .cfi_endproc
  .size \name, .-\name
.endm

#include "access_names.inc"

#endif

.section .note.GNU-stack, "", @progbits
