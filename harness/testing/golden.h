// Golden texts: what a test expects to be printed, kept in a file beside the test and reviewed like code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <source_location>
#include <string>
#include <string_view>

namespace handoff {

// All of `file`, which is relative to the folder of the calling test's source; "" and a failed expectation if it cannot be read.
// Tests are run from the root of the source tree, so a relative source path works too.
inline std::string ReadTestFile(std::string_view file, const std::source_location& where = std::source_location::current()) {
  const std::filesystem::path path = std::filesystem::path(where.file_name()).parent_path() / file;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << "expected a readable file " << path << "; check the name, or refresh golden texts with "
                            << "HANDOFF_UPDATE_GOLDEN=1";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Compares `actual` with the golden text in `file` (relative as above), or writes it there when the environment says
// HANDOFF_UPDATE_GOLDEN=1.
inline void ExpectGolden(std::string_view actual, std::string_view file,
                         const std::source_location& where = std::source_location::current()) {
  const char* update = std::getenv("HANDOFF_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    const std::filesystem::path path = std::filesystem::path(where.file_name()).parent_path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out << actual;
    EXPECT_TRUE(out.good()) << "expected to write " << path << "; check that the source tree is writable";
    return;
  }
  EXPECT_EQ(ReadTestFile(file, where), actual)
      << "the text differs from " << file << "; if the new one is right, refresh it with HANDOFF_UPDATE_GOLDEN=1";
}

}  // namespace handoff
