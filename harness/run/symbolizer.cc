#include "harness/run/symbolizer.h"

#include <cstddef>
#include <cstring>
#include <utility>

extern "C" {
__attribute__((weak)) void __sanitizer_symbolize_pc(void* pc, const char* format, char* out, std::size_t size);
}

namespace handoff {

std::vector<std::string> Symbolize(std::uintptr_t pc, const char* format) {
  std::vector<std::string> lines;
  if (__sanitizer_symbolize_pc == nullptr) return lines;
  std::array<char, 4096> text{};                                              // lines that end in a zero byte each
  __sanitizer_symbolize_pc(reinterpret_cast<void*>(pc), format, text.data(),  // NOLINT(performance-no-int-to-ptr)
                           text.size() - 1);
  for (const char* line = text.data(); *line != '\0'; line += std::strlen(line) + 1) lines.emplace_back(line);
  return lines;
}

// Behind their first bytes: the address of a function may be that of a jump to it.
SharedSymbolizer::Answers SharedSymbolizer::Ask() {
  return {Symbolize(reinterpret_cast<std::uintptr_t>(&Ask) + 1, "%f %L"),
          Symbolize(reinterpret_cast<std::uintptr_t>(&Symbolize) + 1, "%f %L")};
}

void SharedSymbolizer::Start() {
  if (!std::exchange(started_, true)) answers_ = Ask();
}

bool SharedSymbolizer::InStep() {
  if (started_ && in_step_) in_step_ = Ask() == answers_;
  return in_step_;
}

}  // namespace handoff
