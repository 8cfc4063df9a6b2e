// Findings and an alphabet for the tests of this folder.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "harness/case/case.h"
#include "harness/report/finding.h"

namespace handoff {

inline constexpr std::array<std::string_view, 2> kKindNames = {"legacy", "versioned"};
inline constexpr std::array<OperationKind, 3> kOperations = {
    {{.name = "export",
      .arguments = {{{.name = "slot", .values = 4}, {.name = "kind", .values = 2, .value_names = kKindNames}}},
      .argument_count = 2},
     {.name = "consume", .arguments = {{{.name = "slot", .values = 4}}}, .argument_count = 1},
     {.name = "drop"}}};
inline constexpr Alphabet kAlphabet = {.operations = kOperations};

using schedule::PointKind;
using schedule::StepKind;

// Steps as the scheduler records them. `thread` is 0 for A.
inline TraceStep Begin(std::uint8_t thread, std::uint16_t operation) {
  return {.kind = StepKind::kBegin, .thread = thread, .at = {.operation = operation}};
}
inline TraceStep End(std::uint8_t thread, std::uint16_t operation) {
  return {.kind = StepKind::kEnd, .thread = thread, .at = {.operation = operation}};
}
inline TraceStep Exit(std::uint8_t thread, std::uint16_t operation) {
  return {.kind = StepKind::kExit, .thread = thread, .at = {.operation = operation}};
}
inline TraceStep AtPoint(std::uint8_t thread, Position at, const char* what, std::uint32_t object) {
  return {.kind = StepKind::kPoint, .point = PointKind::kSync, .thread = thread, .object = object, .at = at, .what = what};
}
inline TraceStep SwitchTo(std::uint8_t thread, PointKind point, Position at, std::uint8_t to) {
  return {.kind = StepKind::kSwitch, .point = point, .thread = thread, .to = to, .at = at};
}
inline TraceStep Wait(std::uint8_t thread, Position at, const char* what, std::uint32_t object) {
  return {.kind = StepKind::kWait, .thread = thread, .object = object, .at = at, .what = what};
}

// A consumer renames a capsule while another one reads its name.
inline Finding RaceFinding() {
  Finding finding;
  finding.kind = "data-race";
  finding.target = "dlpack_capsule";
  finding.twin = "unlocked_rename";
  finding.breach = "renames the capsule without the lock that its readers hold";
  finding.sites = {
      {.module = "dlpack_capsule",
       .function = "handoff::dlpack::Capsule::Rename",
       .access = "write",
       .place = "capsule.cc:12",
       .reported = 2},
      {.module = "dlpack_capsule", .function = "handoff::dlpack::Capsule::Name", .access = "read", .place = "", .reported = 1}};
  finding.report =
      "WARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 8 at 0x7b0400000000 by thread T2:\n"
      "    #0 handoff::dlpack::Capsule::Rename(char const*) /src/capsule.cc:12:3 (dlpack_capsule+0x12)\nDEDUP_TOKEN: not--ours\n"
      "SUMMARY: ThreadSanitizer: data race /src/capsule.cc:12:3 in handoff::dlpack::Capsule::Rename(char const*)\n";
  finding.recorded.threads = {{{.code = 0, .arguments = {2, 1}}, {.code = 1, .arguments = {2}}},
                              {{.code = 1, .arguments = {2}}, {.code = 2}}};
  finding.trace = {Begin(0, 0),
                   AtPoint(0, {.operation = 0, .sync = 1}, "allocation", 1),
                   End(0, 0),
                   SwitchTo(0, PointKind::kOp, {.operation = 1}, 1),
                   Begin(1, 0),
                   AtPoint(1, {.operation = 0, .sync = 1}, "capsule call", 2),
                   SwitchTo(1, PointKind::kSync, {.operation = 0, .sync = 1}, 0),
                   Begin(0, 1),
                   SwitchTo(0, PointKind::kAccess, {.operation = 1, .access = 17}, 1)};
  finding.trace_hash = 0x0123456789abcdef;
  finding.thread = 1;
  finding.at = {.operation = 0, .sync = 1, .access = 3};
  return finding;
}

// Two threads that wait for each other's mutex, and one that waits for something else; nothing is known of their stacks.
inline Finding DeadlockFinding() {
  Finding finding;
  finding.kind = "deadlock";
  finding.target = "deadlock";
  finding.detail =
      "All threads that have not ended wait. A waits for mutex #2 held by B. B waits for mutex #1 held by A. C waits for "
      "semaphore #3, "
      "which only a post could end. Cycle: A -> B -> A.";
  finding.recorded.threads = {{{.code = 1, .arguments = {0}}}, {{.code = 1, .arguments = {1}}}, {{.code = 2}}};
  finding.trace = {Begin(0, 0),
                   AtPoint(0, {.operation = 0, .sync = 1}, "lock", 1),
                   AtPoint(0, {.operation = 0, .sync = 2}, "lock", 2),
                   SwitchTo(0, PointKind::kSync, {.operation = 0, .sync = 2}, 1),
                   Begin(1, 0),
                   Wait(1, {.operation = 0, .sync = 2}, "mutex", 1),
                   SwitchTo(1, PointKind::kWait, {.operation = 0, .sync = 2}, 2),
                   Begin(2, 0),
                   Wait(2, {.operation = 0, .sync = 1}, "semaphore", 3),
                   SwitchTo(2, PointKind::kWait, {.operation = 0, .sync = 1}, 0),
                   Wait(0, {.operation = 0, .sync = 3}, "mutex", 2)};
  return finding;
}

// The same as a build with a symbolizer tells it.
inline Finding DeadlockWithStacks() {
  Finding finding = DeadlockFinding();
  finding.sites = {{.module = "deadlock", .function = "bank::Transfer", .access = "mutex", .place = "bank.cc:7", .thread = 0},
                   {.module = "deadlock", .function = "bank::Audit", .access = "mutex", .place = "bank.cc:19", .thread = 1}};
  finding.report =
      "  Thread A waits for mutex #2:\n    #0 pthread_mutex_lock <null> (deadlock+0x12)\n"
      "    #1 bank::Transfer() /src/bank.cc:7:3 (deadlock+0x34)\n    #2 handoff::Executor::Apply(int) /src/executor.cc:1:1 "
      "(x+0x1)\n"
      "  which thread B took here:\n    #0 pthread_mutex_lock <null> (deadlock+0x12)\n"
      "    #1 bank::Audit() /src/bank.cc:18:3 (deadlock+0x56)\n";
  return finding;
}

// A tensor that nobody deleted, noticed by the driver behind the last thread's end.
inline Finding LeakFinding() {
  Finding finding;
  finding.kind = "missing-delete";
  finding.target = "dlpack_exchange";
  finding.rule = "R3";
  finding.detail = "Tensor 1 was exported and never deleted.";
  finding.recorded.threads = {{{.code = 0, .arguments = {0, 0}}}};
  finding.trace = {Begin(0, 0), End(0, 0), Exit(0, 1)};
  return finding;
}

}  // namespace handoff
