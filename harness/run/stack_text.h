// Stacks that a failed process left behind, as text: the addresses are those of this process too, since both are forks of one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/report/finding.h"
#include "harness/schedule/record.h"

namespace handoff {

// One thread may call these functions. Functions and lines are found by the sanitizer's symbolizer: in a build without sanitizer
// what they return is empty. A module that only the failed process had loaded has no names here.

// Each stack under a line that says whose it is, as sanitizers print them, without the scheduler's own frames on top.
std::string StacksText(std::span<const schedule::Stack> stacks);

// "bank.cc:7" for each place, the innermost one that is neither the harness's nor a library's; "" where none is known.
std::vector<std::string> PlacesText(std::span<const schedule::CodePlace> places);

// Where the thread that failed stood; without a function if that is not known.
Site StandSite(std::span<const schedule::Stack> stacks);

// Where each thread that waits does so (Site); empty if of no decisive one a function is known.
std::vector<Site> WaitSites(std::span<const schedule::Stack> stacks);

}  // namespace handoff
