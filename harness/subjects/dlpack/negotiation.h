// What a consumer asks of `__dlpack__`, what a producer makes of it, and whether the answer keeps the rules (R15, R22 to R28,
// R32).
//
// Producer and judge are written separately from the same rules of the array API standard, and share nothing but the words below.
#pragma once

#include <array>
#include <string_view>

#include "harness/python/embed.h"
#include "harness/subjects/dlpack/handle.h"

namespace handoff::dlpack {

// The values of a consumer's arguments. Text cases use these names: append only.
inline constexpr std::array<std::string_view, 6> kVersionNames = {"absent", "none", "legacy", "same", "newer", "malformed"};
inline constexpr std::array<std::string_view, 6> kDeviceNames = {"absent", "none", "cpu", "cpu_1", "other", "malformed"};
inline constexpr std::array<std::string_view, 4> kCopyNames = {"absent", "none", "true", "false"};
inline constexpr std::array<std::string_view, 7> kStreamNames = {"absent", "none",      "zero", "unknown_keyword",
                                                                 "one",    "minus_one", "large"};

// Indices into the tables above.
struct Question {
  int version = 0;
  int device = 0;
  int copy = 0;
  int stream = 0;
};

// --- The producer's side: called by Array.__dlpack__ ---

// What was asked for, in the producer's terms.
struct Request {
  bool versioned = false;   // else the legacy struct
  bool copy = false;        // must be a copy
  bool own_memory = false;  // must not be one
};
// Reads the keyword arguments of a vectorcall without positional ones. False, with an exception set, if they cannot be met.
bool ParseRequest(PyObject* const* arguments, Py_ssize_t positional, PyObject* names, Request& request);

// --- The consumer's side, and the judge ---

// Once, on the main thread, attached.
void MakeQuestions();
// Calls `object.__dlpack__` with these arguments, judges what comes back (oracle::Fail does not return) and takes the tensor out
// of the capsule. Nothing was taken if the producer refused, rightly.
Taken Negotiate(PyObject* object, const Question& question);

}  // namespace handoff::dlpack
