#include "harness/run/symbolizer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace handoff {
namespace {

// Ends of pipes that this process writes to.
std::set<int> WritingEnds() {
  std::set<int> ends;
  for (int fd = 3; fd < 256; ++fd) {
    char name[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), name, sizeof name - 1) < 0 || std::strncmp(name, "pipe:", 5) != 0) continue;
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) ends.insert(fd);
  }
  return ends;
}

TEST(SymbolizerTest, AnswersAreInStepUntilSomebodyLeavesOneBehind) {
  const std::set<int> before = WritingEnds();
  SharedSymbolizer symbolizer;
  EXPECT_TRUE(symbolizer.InStep()) << "it has not been started";
  symbolizer.Start();
  symbolizer.Start();
  EXPECT_TRUE(symbolizer.InStep());
  EXPECT_TRUE(symbolizer.InStep());
  std::set<int> started = WritingEnds();
  std::erase_if(started, [&before](int fd) { return before.contains(fd); });
  if (started.size() != 1) GTEST_SKIP() << "no sanitizer, or no symbolizer on this machine";
  // A question as llvm-symbolizer reads it. Nobody reads the answer.
  constexpr std::string_view kQuestion = "CODE \"/proc/self/exe\" 0x1\n";
  ASSERT_EQ(write(*started.begin(), kQuestion.data(), kQuestion.size()), static_cast<ssize_t>(kQuestion.size()));
  EXPECT_FALSE(symbolizer.InStep());
  EXPECT_FALSE(symbolizer.InStep()) << "nothing that it says later is believed";
}

}  // namespace
}  // namespace handoff
