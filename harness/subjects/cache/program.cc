#include "harness/subjects/cache/program.h"

#include <cstdio>
#include <string>

#include "harness/case/text.h"

namespace handoff::cache {

void Program::Print(const void* self, int thread, int number, char* text, int size) {
  const Program& program = *static_cast<const Program*>(self);
  const Operation& operation = program.threads_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(number)];
  std::snprintf(text, static_cast<std::size_t>(size), "%s", PrintOperation(program.alphabet_, operation).c_str());
}

}  // namespace handoff::cache
