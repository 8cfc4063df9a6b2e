// libFuzzer's entry points.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "harness/case/mutator.h"
#include "harness/run/address_space.h"
#include "harness/run/runner.h"
#include "harness/run/target.h"

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2, std::size_t size2,
                                      std::uint8_t* out, std::size_t max_out_size, unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);  // libFuzzer's
}

namespace {
handoff::Runner* runner = nullptr;  // never destroyed

// A standard descriptor that the caller closed would be given to the next socket, and what is printed would go there.
void OpenStandardDescriptors() {
  int descriptor = 0;
  do descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
}
}  // namespace

// NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's signature
int LLVMFuzzerInitialize(int* argc, char*** argv) {
  handoff::FixAddresses(*argv);
  OpenStandardDescriptors();
  runner = &handoff::StartRunner(handoff::TheTarget(), std::vector<std::string>(*argv + 1, *argv + *argc), **argv);
  if (!runner->options().files.empty()) std::exit(runner->ReplayCold());
  runner->StartFuzzing();
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  runner->RunInput(data, size);
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  return handoff::MutateCase(handoff::TheTarget().alphabet, data, size, max_size, seed, &LLVMFuzzerMutate);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2, std::size_t size2,
                                      std::uint8_t* out, std::size_t max_out_size, unsigned seed) {
  return handoff::CrossCases(handoff::TheTarget().alphabet, std::span(data1, size1), std::span(data2, size2), out, max_out_size,
                             seed);
}
