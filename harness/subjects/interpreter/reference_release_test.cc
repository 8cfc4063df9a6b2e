#include "harness/subjects/interpreter/reference_release.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/subjects/interpreter/release_watch.h"
#include "harness/testing/seeds.h"

namespace handoff::interpreter {
namespace {

std::vector<Case> Seeds() { return SeedsOf("reference_release", ReferenceRelease::Operations()); }

TEST(ReferenceRelease, SeedsReachEveryOperationAndEveryWay) {
  EXPECT_EQ(CodesIn(Seeds()).size(), ReferenceRelease::Operations().operations.size());
  std::set<int> ways;
  for (const Case& c : Seeds()) {
    for (const auto& thread : c.threads) {
      for (const Operation& operation : thread) {
        if (operation.code == 1) ways.insert(operation.arguments[0]);
      }
    }
  }
  EXPECT_EQ(ways.size(), 5U);
}

TEST(ReferenceRelease, TheSafeWaysAreSilentOnEverySeed) {
  const auto subject = ReferenceRelease::Make(-1);
  for (const Case& c : Seeds()) RunInTurn(*subject, c);
}

TEST(ReferenceRelease, TwinsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Twin& twin : ReferenceRelease::Twins()) EXPECT_TRUE(names.emplace(twin.name).second) << twin.name;
}

// One thread alone, which cannot hang.
void UseStaticAlone(std::string_view twin) {
  const auto index = std::ranges::find(ReferenceRelease::Twins(), twin, &Twin::name) - ReferenceRelease::Twins().begin();
  const auto subject = ReferenceRelease::Make(twin.empty() ? -1 : static_cast<int>(index));
  const auto& operations = ReferenceRelease::Operations().operations;
  const auto code = std::ranges::find(operations, "static", &OperationKind::name) - operations.begin();
  Case c;
  for (const int host : {0, 1}) {
    const Operation once{.code = static_cast<std::uint8_t>(code), .arguments = {static_cast<std::uint8_t>(host)}};
    c.threads = {{once, once}};
    RunInTurn(*subject, c);
  }
}

TEST(ReferenceRelease, AStaticVariableThatIsEnteredWhileAttachedIsACycleThoughNobodyHangs) {
  UseStaticAlone("");
  EXPECT_DEATH(UseStaticAlone("static_attached"),
               "lock-order interpreter: Thread A waits for interpreter 0 while it holds static guard 0");
}

class ReleaseWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    release_watch::Reset();
    handle_ = release_watch::HandleMade(1, 0);
  }
  int handle_ = 0;
};

TEST_F(ReleaseWatchTest, EachOfTheThreeEndsIsCleanOnce) {
  const int second = release_watch::HandleMade(0, 3);
  const int third = release_watch::HandleMade(0, 3);
  release_watch::Applied(handle_, 0);
  release_watch::LeakedByDesign(second);
  release_watch::Pending(third);
  EXPECT_DEATH(release_watch::Judge(), "missing-delete S6: Reference 3 is pending at the end");
  release_watch::Applied(third, 3);
  release_watch::Judge();
}

TEST_F(ReleaseWatchTest, ASecondEndBreaksS0) {
  release_watch::Applied(handle_, 0);
  EXPECT_DEATH(release_watch::Leaked(handle_), "double-delete S0: Reference 1 is given up although it is dropped");
  EXPECT_DEATH(release_watch::Pending(handle_), "double-delete S0");
}

TEST_F(ReleaseWatchTest, ADropInALaterGenerationBreaksS10) {
  EXPECT_DEATH(release_watch::Applied(handle_, 1),
               "protocol S10: Reference 1 of generation 0 of interpreter 1 is dropped in generation 1");
}

TEST_F(ReleaseWatchTest, AttachingBehindAClosedGateBreaksS5) {
  release_watch::AttachBegins(1);
  release_watch::GateClosed(1);
  release_watch::AttachBegins(0);
  EXPECT_DEATH(release_watch::AttachBegins(1), "protocol S5");
  release_watch::GateOpened(1);
  release_watch::AttachBegins(1);
}

TEST_F(ReleaseWatchTest, ALeakWhileTheInterpreterLivesBreaksS8) {
  EXPECT_DEATH(release_watch::Leaked(handle_), "missing-delete S8: Reference 1 is given up although interpreter 1 lives");
  const int elsewhere = release_watch::HandleMade(0, 0);
  release_watch::GateClosed(1);
  EXPECT_DEATH(release_watch::Leaked(elsewhere), "missing-delete S8");
  release_watch::Leaked(handle_);
}

TEST_F(ReleaseWatchTest, ALeakOfAGenerationThatIsGoneIsClean) {
  release_watch::GateClosed(1);
  release_watch::GateOpened(1);
  const int second = release_watch::HandleMade(1, 1);
  release_watch::Leaked(handle_);
  EXPECT_DEATH(release_watch::Leaked(second), "missing-delete S8: Reference 2");
  release_watch::LeakedByDesign(second);
}

TEST_F(ReleaseWatchTest, AReferenceThatNobodyReleasedBreaksS6) {
  EXPECT_DEATH(release_watch::Judge(), "missing-delete S6: Reference 1 is still held at the end");
}

}  // namespace
}  // namespace handoff::interpreter
