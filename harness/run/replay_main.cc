// A target without libFuzzer: replays files, in this process (for a debugger) or cold. Builds with any compiler.
#include <cstdio>
#include <string>
#include <vector>

#include "harness/run/address_space.h"
#include "harness/run/runner.h"
#include "harness/run/target.h"

int main(int argc, char** argv) {
  handoff::FixAddresses(argv);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool cold = std::erase(arguments, "--cold") > 0;
  handoff::Runner& runner = handoff::StartRunner(handoff::TheTarget(), arguments, argv[0]);
  if (runner.options().files.empty()) {
    std::fprintf(stderr,
                 "%s: expected files with cases, in text or binary form, and found none.\n"
                 "usage: %s [--cold] [-timeout=SECONDS] [-runs=N] FILE...\n"
                 "Without --cold each file runs once in this process, for a debugger; HANDOFF_TWIN chooses a broken twin.\n",
                 argv[0], argv[0]);
    return 1;
  }
  return cold ? runner.ReplayCold() : runner.ReplayHere();
}
