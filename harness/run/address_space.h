// Address randomisation, off: hashes of pointers and slots of caches depend on addresses, so with it on the same case takes
// different paths inside CPython in different processes.
#pragma once

namespace handoff {

// Starts this program again without address randomisation, unless that is so already, or refused (containers without the right to
// call personality(): the run goes on with it). First thing in main, before anything has been opened; does not return if it
// restarts. `arguments` as given to main.
void FixAddresses(char** arguments);

}  // namespace handoff
