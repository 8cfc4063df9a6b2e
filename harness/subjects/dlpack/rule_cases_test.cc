// Each rule that has a check, shown to bite by name: under its twin a text case ends in a finding with the rule's number.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <semaphore>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "harness/case/text.h"
#include "harness/subjects/dlpack/capsule.h"
#include "harness/subjects/dlpack/exchange.h"
#include "harness/subjects/dlpack/interleave.h"
#include "harness/subjects/dlpack/operation_names.h"
#include "harness/subjects/dlpack/rules.h"

// LeakSanitizer does not look into CPython's allocator and takes what live objects hold for lost. The ledger judges leaks.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier): the sanitizer's name

namespace handoff::dlpack {
namespace {

enum class Of { kExchange, kCapsule };

struct RuleCase {
  std::string_view rule;
  Of target;
  std::string_view operations;       // of a text case; thread A's run first, then B's
  const char* interleave = nullptr;  // B's run at this point of A's instead
};

constexpr RuleCase kCases[] = {
    {"R1", Of::kExchange, "A export kind=no_deleter\nA drop\n"},
    {"R2", Of::kExchange, "A export\nA consume\nA release\n"},
    {"R3", Of::kExchange, "A export\nA refuse\n"},
    {"R4", Of::kExchange, "A export\n"},
    {"R6", Of::kCapsule, "A export\nA consume\n"},
    {"R7", Of::kExchange, "A export\nA drop\n"},
    {"R9", Of::kExchange, "A export\nA consume\nB consume\n", "rename"},
    {"R10", Of::kExchange, "A export\nA consume\nA drop\n"},
    {"R11", Of::kCapsule, "A export\nA consume\nA release state=detached\n"},
    {"R11a", Of::kCapsule, "A export\nA drop pending=exception\n"},
    {"R12", Of::kExchange, "A export kind=next_major\nA consume\n"},
    {"R13", Of::kExchange, "A export kind=versioned type=unknown\nA consume\n"},
    {"R14", Of::kCapsule, "A export kind=next_major\nA consume\n"},
    {"R15", Of::kCapsule, "A negotiate max_version=none\n"},
    {"R16", Of::kExchange, "A export kind=negative_rank\nA consume\n"},
    {"R17", Of::kExchange, "A export layout=empty\n"},
    {"R18", Of::kExchange, "A export kind=versioned layout=compact\n"},
    {"R19", Of::kExchange, "A export layout=transposed\nA consume\nA read\n"},
    {"R20", Of::kExchange, "A export layout=offset\nA consume\nA read\n"},
    {"R21", Of::kExchange, "A export kind=versioned type=int4_padded\nA consume\nA read\n"},
    {"R21a", Of::kExchange, "A export kind=device_number\nA consume\n"},
    {"R22", Of::kCapsule, "A negotiate max_version=same copy=true\n"},
    {"R23", Of::kCapsule, "A negotiate max_version=same dl_device=other\n"},
    {"R24", Of::kCapsule, "A negotiate max_version=same copy=true\n"},
    {"R25", Of::kCapsule, "A negotiate max_version=same stream=unknown_keyword\n"},
    {"R26", Of::kCapsule, "A negotiate max_version=same stream=zero\n"},
    {"R28", Of::kCapsule, "A negotiate max_version=same copy=false\n"},
    {"R29", Of::kExchange, "A export kind=versioned\n"},
    {"R30", Of::kExchange, "A export kind=read_only\nA consume\nA write\n"},
    {"R32", Of::kCapsule, "A export kind=read_only\nA import\nA negotiate max_version=none\n"},
    {"R33", Of::kCapsule, "A api action=import\n"},
    {"R34", Of::kCapsule, "A api action=import\n"},
    {"R35", Of::kCapsule, "A api action=import kind=next_major\n"},
    {"R36", Of::kCapsule, "A api action=import\n"},
    {"R37", Of::kCapsule, "A api action=allocate_elsewhere\n"},
    {"R38", Of::kCapsule, "A api action=borrow\n"},
    {"R39", Of::kCapsule, "A api action=import kind=versioned\nA api action=wrap kind=versioned\n"},
    {"R40", Of::kCapsule, "A api action=allocate_elsewhere\n"},
};

// A thread that does what it is told, as a carrier of operations does.
class Carrier {
 public:
  void Do(std::function<void()> work) {
    work_ = std::move(work);
    begin_.release();
    end_.acquire();
  }
  void Stop() {
    begin_.release();
    thread_.join();
  }

 private:
  void Run() {
    for (begin_.acquire(); work_; begin_.acquire()) {
      std::exchange(work_, nullptr)();
      end_.release();
    }
  }

  std::binary_semaphore begin_{0};
  std::binary_semaphore end_{0};
  std::function<void()> work_;  // null ends the thread
  std::thread thread_{[this] { Run(); }};
};

Case Read(const Alphabet& alphabet, const RuleCase& shown) {
  const std::string text = "handoff case 1\nthreads 2\n" + std::string(shown.operations);
  const CaseOrError read = ParseCase(alphabet, text, shown.rule);
  if (const TextError* error = std::get_if<TextError>(&read); error != nullptr) {
    fprintf(stderr, "%s\n", ToString(*error).c_str());
    _Exit(1);
  }
  return std::get<Case>(read);
}

// One execution in a process that ends with it: with 0, unless somebody has something to say.
[[noreturn]] void Execute(const RuleCase& shown, std::string_view twin) {
  const bool exchange = shown.target == Of::kExchange;
  const std::span<const Twin> twins = exchange ? Exchange::Twins() : Capsule::Twins();
  const Case c = Read(exchange ? Exchange::Operations() : Capsule::Operations(), shown);
  const auto subject = exchange ? Exchange::Make(TwinNamed(twins, twin)) : Capsule::Make(TwinNamed(twins, twin));
  subject->Initialize("rule_cases_test");
  subject->Begin(c);
  Carrier carriers[2];
  const auto apply = [&](int thread) {
    for (const Operation& operation : c.threads[static_cast<std::size_t>(thread)]) subject->Apply(thread, operation);
  };
  for (int t = 0; t < 2; ++t) carriers[t].Do([&, t] { subject->Start(t); });
  interleave = {shown.interleave, 0, [&] { carriers[1].Do([&] { apply(1); }); }};
  carriers[0].Do([&] { apply(0); });
  if (shown.interleave == nullptr) carriers[1].Do([&] { apply(1); });
  while (const ThreadBits waiting = subject->NeedsFinish(3)) {
    for (int t = 0; t < 2; ++t) {
      if ((waiting >> t & 1U) != 0) carriers[t].Do([&, t] { subject->Finish(t); });
    }
  }
  subject->End();
  for (Carrier& carrier : carriers) carrier.Stop();
  exit(0);
}

// "verdict: (kind|kind) R7:", of the kinds that the rule's row lists; empty if a sanitizer is the only judge, which names no
// rule.
std::string Finding(const Rule& rule) {
  if (rule.check == "thread") return "";
  std::string kinds(rule.check);
  std::ranges::replace(kinds, ' ', '|');
  return "verdict: (" + kinds + ") " + std::string(rule.number) + ":";
}

// A twin, not the name of a test of the ledger or a reason.
bool NamesATwin(const Rule& rule) { return !rule.check.empty() && std::islower(static_cast<unsigned char>(rule.shown[0])) != 0; }

class RuleCasesTest : public testing::Test {
 protected:
  // Each death test is a process of its own that starts from the beginning: it has threads and an interpreter.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#if DLPACK_MINOR_VERSION >= 2  // with the exchange API, and NULL strides forbidden
TEST_F(RuleCasesTest, TheTwinOfARuleIsFoundByTheNumberOfThatRule) {
  for (const Rule& rule : Rules()) {
    const std::string finding = Finding(rule);
    if (!NamesATwin(rule) || finding.empty()) continue;
    const auto* shown = std::ranges::find(kCases, rule.number, &RuleCase::rule);
    ASSERT_NE(shown, std::end(kCases)) << "no case shows " << rule.number;
    EXPECT_DEATH(Execute(*shown, rule.shown), finding) << rule.number;
  }
}
#endif

TEST_F(RuleCasesTest, TheSafeOnePassesThoseCases) {
  for (const RuleCase& shown : kCases) EXPECT_EXIT(Execute(shown, "safe"), testing::ExitedWithCode(0), "") << shown.rule;
}

}  // namespace
}  // namespace handoff::dlpack
