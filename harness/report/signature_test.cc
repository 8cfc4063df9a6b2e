#include "harness/report/signature.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "harness/report/test_finding.h"

namespace handoff {
namespace {

TEST(Signature, ARaceIsItsSortedPairOfSites) {
  Finding finding = RaceFinding();
  const std::string signature = Signature(finding, kAlphabet);
  EXPECT_EQ(
      signature,
      "data-race--dlpack_capsule:handoff::dlpack::Capsule::Name:read--dlpack_capsule:handoff::dlpack::Capsule::Rename:write");
  std::swap(finding.sites[0], finding.sites[1]);
  EXPECT_EQ(Signature(finding, kAlphabet), signature) << "which access came second must not matter";
}

TEST(Signature, AMemoryErrorIsItsFailingAccess) {
  Finding finding = RaceFinding();
  finding.kind = "heap-use-after-free";
  finding.sites[1].access = "free";
  EXPECT_EQ(Signature(finding, kAlphabet), "heap-use-after-free--dlpack_capsule:handoff::dlpack::Capsule::Rename:write");
}

TEST(Signature, NeitherThreadNorTraceNorDetailChangesASanitizersSignature) {
  Finding finding = RaceFinding();
  const std::string signature = Signature(finding, kAlphabet);
  finding.thread = 0;
  finding.sites[0].reported = 7;
  finding.trace.clear();
  finding.detail = "at 0x7b0400000000";
  EXPECT_EQ(Signature(finding, kAlphabet), signature);
}

TEST(Signature, ADeadlockIsTheObjectsOfItsCycle) {
  Finding finding = DeadlockFinding();
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--mutex") << "C's semaphore is not part of the cycle";
  finding.detail = "All threads that have not ended wait.";
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--mutex--semaphore");
}

TEST(Signature, ADeadlockWithStacksIsWhereItsThreadsWait) {
  Finding finding = DeadlockWithStacks();
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Audit:mutex--deadlock:bank::Transfer:mutex");
  finding.sites[0].place = "bank.cc:8";
  std::swap(finding.sites[0], finding.sites[1]);
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Audit:mutex--deadlock:bank::Transfer:mutex");
  finding.sites[0].function = finding.sites[1].function;
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Transfer:mutex--deadlock:bank::Transfer:mutex")
      << "not that of one thread that waits for itself";
  finding.sites.pop_back();
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Transfer:mutex");
  finding.sites.push_back(finding.sites[0]);
  finding.detail = "All threads that have not ended wait.";
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Transfer:mutex") << "without a cycle each once";
  finding.sites.push_back({.module = "deadlock", .function = "bank::Print", .access = "mutex", .place = "", .decisive = false});
  EXPECT_EQ(Signature(finding, kAlphabet), "deadlock--deadlock:bank::Transfer:mutex") << "bystanders vary";
}

TEST(Signature, AnOraclesFindingIsRuleAndOperation) {
  Finding finding = RaceFinding();
  finding.kind = "protocol";
  finding.rule = "R7";
  finding.sites.clear();
  EXPECT_EQ(Signature(finding, kAlphabet), "protocol--R7--consume");
  finding.thread = -1;
  EXPECT_EQ(Signature(finding, kAlphabet), "protocol--R7--consume") << "the trace says who had the baton";
  EXPECT_EQ(Signature(LeakFinding(), kAlphabet), "missing-delete--R3--end");
}

TEST(Signature, ASignalWithoutAReportIsItsOperation) {
  Finding finding = RaceFinding();
  finding.kind = "abort";
  finding.sites.clear();
  EXPECT_EQ(Signature(finding, kAlphabet), "abort--consume");
  finding.recorded.threads.clear();
  EXPECT_EQ(Signature(finding, kAlphabet), "abort--end") << "a trace that fits no program is no reason to fail";
}

TEST(Signature, AThreadThatTheProgramDoesNotHaveHasNoOperation) {
  Finding finding = RaceFinding();
  finding.kind = "abort";
  finding.sites.clear();
  finding.thread = 5;
  EXPECT_EQ(Signature(finding, kAlphabet), "abort--end");
}

TEST(Signature, PlainSignaturesAreTheirOwnFolders) {
  EXPECT_EQ(SignatureFolder("double-delete--R3--drop"), "double-delete--R3--drop");
}

TEST(Signature, FoldersAreShortPlainAndDifferentForDifferentSignatures) {
  const std::string longest = "data-race--" + std::string(300, 'x');
  for (const std::string& signature :
       {Signature(RaceFinding(), kAlphabet), longest, std::string("../etc"), std::string(), std::string("a\xc3\xa4")}) {
    const std::string folder = SignatureFolder(signature);
    EXPECT_LE(folder.size(), kMaxFolderName);
    EXPECT_EQ(folder.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"), std::string::npos)
        << folder;
    EXPECT_NE(folder.front(), '.');
    EXPECT_EQ(folder[folder.size() - 9], '-') << "changed names end in a hash";
  }
  EXPECT_NE(SignatureFolder(longest + "a"), SignatureFolder(longest + "b"));
  EXPECT_NE(SignatureFolder("a::b"), SignatureFolder("a//b"));
}

TEST(Signature, TheTokenIsALineOfItsOwn) { EXPECT_EQ(DedupTokenLine("abort--drop"), "DEDUP_TOKEN: abort--drop\n"); }

}  // namespace
}  // namespace handoff
