// A subject that can end its process in any way, at any of the places where code of a subject runs.
#pragma once

#include <iterator>
#include <memory>
#include <string_view>

#include "harness/case/case.h"
#include "harness/subjects/subject.h"

namespace handoff::canary {

inline constexpr std::string_view kEndingPlaces[] = {"operation", "created", "finish", "end"};
// `fire` acts if another thread has armed before.
inline constexpr OperationKind kEndingOperations[] = {
    {.name = "arm"}, {.name = "fire", .arguments = {{{"place", std::size(kEndingPlaces), kEndingPlaces}}}, .argument_count = 1}};

// `act` is called where `fire` says: in the operation, in a thread that the operation creates and joins, in Finish, or in End.
// Null does nothing there: the safe version.
std::unique_ptr<Subject> MakeEnding(void (*act)());

}  // namespace handoff::canary
