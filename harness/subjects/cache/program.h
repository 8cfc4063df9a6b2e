// The program of the case that runs, for verdicts that speak of its operations.
#pragma once

#include <vector>

#include "harness/case/case.h"
#include "harness/oracle/linearizability.h"

namespace handoff::cache {

// All functions: the driver, outside of executions.
class Program {
 public:
  // `alphabet` must outlive this.
  explicit Program(const Alphabet& alphabet) : alphabet_(alphabet) {}

  void Remember(const Case& c) { threads_ = c.threads; }
  // Refers to this.
  linearizability::Program ForVerdicts() const { return {this, &Print}; }

 private:
  static void Print(const void* self, int thread, int number, char* text, int size);

  const Alphabet& alphabet_;
  std::vector<std::vector<Operation>> threads_;
};

}  // namespace handoff::cache
