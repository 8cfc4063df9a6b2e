// Function names as sanitizers print them, reduced to what stays the same from build to build.
#pragma once

#include <string>
#include <string_view>

namespace handoff {

// Any thread may call these functions.

// A demangled name without return type, arguments, template arguments, qualifiers and the suffixes of cloned functions:
// "void ns::F<int>::G(long) const [clone .cold]" gives "ns::F::G". Names of operators, lambdas and anonymous namespaces stay.
std::string PlainFunctionName(std::string_view demangled);

// Whether a function gives memory back: free, operator delete, and their relatives inside CPython. Takes a plain name.
bool IsFree(std::string_view plain_name);

// Whether a function tells nothing about whose bug it is: sanitizer runtimes and their stand-ins for the C library, the C++
// library, CPython's atomic accessors and allocator, and the harness itself. Takes a plain name.
bool IsPlumbing(std::string_view plain_name);

// Whether a function does no more than wait for a lock or for the right to use an interpreter: CPython's mutexes, critical
// sections, events and thread states. Takes a plain name.
bool IsWaiting(std::string_view plain_name);

// Whether all functions of a library are plumbing. Takes its base name.
bool IsPlumbingModule(std::string_view module);

}  // namespace handoff
