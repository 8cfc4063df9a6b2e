#include "harness/schedule/profiler.h"

#include <gtest/gtest.h>

#include <memory>

namespace handoff::schedule {
namespace {

bool Marked(const Profile& profile, int thread, std::uint32_t point) {
  return (profile.shared[thread][point / 64] >> (point % 64) & 1U) != 0;
}

class ProfilerTest : public testing::Test {
 protected:
  void SetUp() override { profiler_->Begin(); }
  Profile Filled() {
    Profile profile;
    profiler_->Fill(profile);
    return profile;
  }
  std::unique_ptr<Profiler> profiler_ = std::make_unique<Profiler>();
};

TEST_F(ProfilerTest, MarksStepsOnObjectsOfSeveralThreads) {
  profiler_->Note(0, PointKind::kSync, 1);
  profiler_->Note(0, PointKind::kOp, 0);
  profiler_->Note(0, PointKind::kSync, 2);
  profiler_->Note(1, PointKind::kSync, 2);
  const Profile profile = Filled();
  EXPECT_FALSE(Marked(profile, 0, 0));
  EXPECT_FALSE(Marked(profile, 0, 1));
  EXPECT_TRUE(Marked(profile, 0, 2));
  EXPECT_TRUE(Marked(profile, 1, 0));
  EXPECT_EQ(profile.shared_of[0], 1U);
  EXPECT_EQ(profile.shared_of[1], 1U);
}

TEST_F(ProfilerTest, UnknownObjectsAndThoseBeyondTheTableCountAsShared) {
  profiler_->Note(3, PointKind::kSync, 0);
  profiler_->Note(3, PointKind::kSync, kProfiledObjects);
  EXPECT_EQ(Filled().shared_of[3], 2U);
}

TEST_F(ProfilerTest, StepsBeyondTheTableCountAsShared) {
  for (std::uint32_t i = 0; i < kProfiledSteps + 5; ++i) profiler_->Note(0, PointKind::kSync, 1);
  EXPECT_EQ(Filled().shared_of[0], 5U);
}

TEST_F(ProfilerTest, BeginForgets) {
  profiler_->Note(0, PointKind::kSync, 1);
  profiler_->Note(1, PointKind::kSync, 1);
  profiler_->Begin();
  profiler_->Note(0, PointKind::kSync, 1);
  EXPECT_EQ(Filled().shared_of[0], 0U);
}

}  // namespace
}  // namespace handoff::schedule
