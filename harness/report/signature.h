// A finding's signature: the same for the same bug whatever case found it, different for different bugs as far as the report
// tells. Holds no address, no line number and no thread.
//
//   races, lock inversions   kind--site--site, the sites sorted
//   memory errors, signals   kind--site, of the failing access
//   deadlocks                kind--site--site, where the threads of the cycle wait, or those that nobody could wake, sorted,
//                            each once, but a cycle of several threads at one place twice; without stacks the kinds of the
//                            objects waited for
//   all others               kind--rule--operation, what is unknown left out; the operation is "end" behind the last one
//
// A site is module:function:access; of a wait, module:function:object.
#pragma once

#include <string>
#include <string_view>

#include "harness/case/case.h"
#include "harness/report/finding.h"

namespace handoff {

// Longest folder name of SignatureFolder, in bytes. Below the 143 of encrypted file systems, with room for suffixes.
inline constexpr std::size_t kMaxFolderName = 100;

// Any thread may call these functions. The alphabet is the target's, for operation names.

std::string Signature(const Finding& finding, const Alphabet& alphabet);

// Whether a kind has an unordered set of sites rather than one failing access: data races and lock inversions.
bool HasUnorderedSites(std::string_view kind);

// The signature as a name of a folder: letters, digits and "._+-" only, at most kMaxFolderName bytes. When something was
// replaced or cut, a hash of 8 hex digits keeps it apart from others.
std::string SignatureFolder(std::string_view signature);

// The line from which libFuzzer's -minimize_crash sees that a smaller input still has the same bug (FuzzerDriver.cpp looks for
// the first such line of the output).
std::string DedupTokenLine(std::string_view signature);

}  // namespace handoff
