#include "harness/run/replay.h"

#include <gtest/gtest.h>

namespace handoff {
namespace {

TEST(ReplayTest, RunsAreCountedAndHashed) {
  Outcome clean;
  clean.end = EndKind::kClean;
  clean.hash = 1;
  Outcome failed;
  failed.end = EndKind::kFinding;
  failed.kind = "deadlock";
  failed.hash = 0xabc;
  ReplaySummary summary;
  ReplayedFile& file = summary.files.emplace_back();
  file.path = "a";
  Add(clean, file);
  Add(failed, file);
  file.signature = "deadlock--mutex";
  EXPECT_EQ(ToJson(summary),
            "{\"files\": [{\"path\": \"a\", \"runs\": 2, \"failed\": 1, \"kind\": \"deadlock\", \"signature\": "
            "\"deadlock--mutex\", \"hashes\": [\"0000000000000001\", \"0000000000000abc\"]}]}");
}

}  // namespace
}  // namespace handoff
