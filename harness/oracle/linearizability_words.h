// How the linearizability check says what it found, in the words of the case. For linearizability.cc alone.
#pragma once

#include "harness/oracle/linearizability.h"

namespace handoff::linearizability {

inline constexpr int kNever = 0x7fffffff;  // the end of a call that has not ended

struct Call {
  int thread, part, map, key, operation, argument, result;  // part: of which operation of the thread it is, from 0
  int start, end;                                           // on one clock that counts starts and ends
};

// How many right answers are told; "or another" stands for the rest.
inline constexpr int kMaxRight = 6;

// A call whose answer no order explains.
struct Unexplained {
  const Call* culprit;
  const Call* const* calls;  // of its key: those that had begun when it ended, by their starts; the culprit too
  int call_count;
  int right[kMaxRight];  // answers that it might have given, what was offered last first
  int right_count;
  bool more_right;
};

// Fails with that.
[[noreturn]] void Tell(const Specification& specification, const Program& program, const Unexplained& found);

}  // namespace handoff::linearizability
