#include "harness/run/artifact.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/run/exchange.h"

namespace handoff {
namespace {

constexpr std::array<std::uint8_t, 3> kData = {0xca, 0x5e, 0x01};

class ArtifactTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "artifact-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder + "/";
    SetArtifactPlace(folder_.c_str(), "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  char path_[kMaxPath] = "";
};

TEST_F(ArtifactTest, ANameIsThePrefixTheKindAndAHashOfTheContent) {
  ASSERT_TRUE(WriteArtifact("crash", kData.data(), kData.size(), path_));
  EXPECT_EQ(std::string(path_), folder_ + "crash-af89431c4b8bd908");
  std::ifstream file(path_, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(content, "\xca\x5e\x01");
}

TEST_F(ArtifactTest, AnExactPathWins) {
  const std::string exact = folder_ + "exact";
  SetArtifactPlace(nullptr, exact.c_str());
  ASSERT_TRUE(WriteArtifact("crash", kData.data(), kData.size(), path_));
  EXPECT_EQ(std::string(path_), exact);
  EXPECT_EQ(std::filesystem::file_size(exact), kData.size());
}

TEST_F(ArtifactTest, AFolderThatIsMissingIsSaid) {
  SetArtifactPlace((folder_ + "missing/").c_str(), nullptr);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(WriteArtifact("crash", kData.data(), kData.size(), path_));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("-artifact_prefix="), std::string::npos);
}

TEST(RawCopyTest, TextsAreCutAndEnd) {
  char out[4];
  CopyText(out, sizeof out, "abcdef");
  EXPECT_STREQ(out, "abc");
  CopyText(out, sizeof out, nullptr);
  EXPECT_STREQ(out, "");
}

}  // namespace
}  // namespace handoff
