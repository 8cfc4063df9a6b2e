#include "harness/case/text.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/case/binary.h"
#include "harness/case/random_case.h"

namespace handoff {
namespace {

using testing::IsValid;
using testing::kAlphabet;
using testing::RandomCases;

std::vector<std::uint8_t> ToBytes(std::string_view text) { return {text.begin(), text.end()}; }

Case Parse(std::string_view text) {
  const CaseOrError result = ParseCase(kAlphabet, text, "a.case");
  if (const auto* error = std::get_if<TextError>(&result)) ADD_FAILURE() << ToString(*error);
  return std::holds_alternative<Case>(result) ? std::get<Case>(result) : Case{};
}

// The message for a text with an error.
std::string Message(std::string_view text) {
  const CaseOrError result = ParseCase(kAlphabet, text, "a.case");
  const auto* error = std::get_if<TextError>(&result);
  return error != nullptr ? ToString(*error) : "no error";
}

// The message for a case whose lines behind the first are `lines`.
std::string MessageFor(const std::string& lines) { return Message("handoff case 1\n" + lines); }

TEST(TextTest, ParsingAPrintedCaseGivesItBack) {
  for (const Case& c : RandomCases(20)) EXPECT_EQ(Parse(PrintCase(kAlphabet, c, "one\n\ntwo # three")), c);
}

TEST(TextTest, EverySettingAndStatementIsRead) {
  const Case expected{
      .strategy = Strategy::kRandom,
      .granularity = Granularity::kSync,
      .parameter = 51,
      .threads = {{{.code = 0, .arguments = {2, 1}}, {.code = 2}}, {}, {{.code = 3, .arguments = {0, 255, 0, 1}}}},
      .bytes = {0x0a, 0x1b, 0xff, 0x00}};
  EXPECT_EQ(Parse("handoff case 1\r\n"
                  "# found by a nightly run\n"
                  "strategy random\n\n"
                  "parameter 51   # 0.2\n"
                  "granularity sync\n"
                  "threads 3\n"
                  "C write bit=1\tvalue=255\n"
                  "  A export slot=2 kind=versioned\n"
                  "A drop\n"
                  "bytes 0a1B ff\n"
                  "bytes 00"),
            expected);
}

TEST(TextTest, SwitchesAreRead) {
  const Case expected{.strategy = Strategy::kListed,
                      .threads = {{}, {}},
                      .switches = {{.thread = kGate, .to = 1},
                                   {.thread = 1, .to = 0, .at = {.operation = 2, .sync = 1, .access = 17}},
                                   {.thread = 0, .to = 1, .at = {.operation = 65535, .sync = 65535, .access = 4294967295}},
                                   {.thread = 0, .to = 0, .at = {.operation = 3}}}};
  EXPECT_EQ(Parse("handoff case 1\n"
                  "strategy listed\n"
                  "start B\n"
                  "switch B 2.1+17 to A\n"
                  "switch A 65535.65535+4294967295 to B\n"
                  "switch A 3.0 to A\n"),
            expected);
}

TEST(TextTest, TheFirstLineAloneIsTheEmptyCase) { EXPECT_EQ(Parse("handoff case 1"), DecodeCase(kAlphabet, {})); }

// These texts are in people's repositories: a new version of the form adds tests and leaves these alone.
TEST(TextTest, TheFormIsPinned) {
  const Case bytes{.parameter = 3,
                   .threads = {{{.code = 0, .arguments = {2, 1}}}, {{.code = 2}}},
                   .bytes = std::vector<std::uint8_t>(33, 0xa5)};
  EXPECT_EQ(PrintCase(kAlphabet, bytes, "Found\n\nby hand\n"),
            "handoff case 1\n"
            "# Found\n"
            "#\n"
            "# by hand\n"
            "strategy bytes\n"
            "granularity access\n"
            "parameter 3\n"
            "threads 2\n"
            "A export slot=2 kind=versioned\n"
            "B drop\n"
            "bytes a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\n"
            "bytes a5\n");
  const Case listed{.strategy = Strategy::kListed,
                    .granularity = Granularity::kOp,
                    .threads = {{}},
                    .switches = {{.thread = kGate, .to = 0},
                                 {.thread = 0, .to = 0, .at = {.operation = 2, .sync = 1, .access = 17}},
                                 {.thread = 0, .to = 0, .at = {.operation = 3}}}};
  EXPECT_EQ(PrintCase(kAlphabet, listed),
            "handoff case 1\n"
            "strategy listed\n"
            "granularity op\n"
            "threads 1\n"
            "start A\n"
            "switch A 2.1+17 to A\n"
            "switch A 3.0 to A\n");
}

TEST(TextTest, AnUnknownNameListsTheValidOnes) {
  EXPECT_EQ(MessageFor("strategy pctt"),
            "a.case:2:10: expected a strategy (bytes, random, pct, pos, surw, listed, free), found 'pctt'");
  EXPECT_EQ(MessageFor("granularity fine"), "a.case:2:13: expected a granularity (op, sync, access), found 'fine'");
  EXPECT_EQ(MessageFor("threads 1\n\nA exprt"),
            "a.case:4:3: expected an operation (export, consume, drop, write, finalize), found 'exprt'");
  EXPECT_EQ(MessageFor("A export slott=1"), "a.case:2:10: expected an argument of export (slot, kind), found 'slott'");
  EXPECT_EQ(MessageFor("A drop slot=1"), "a.case:2:8: expected an argument of drop (there are none), found 'slot'");
  EXPECT_EQ(MessageFor("A export kind=1"), "a.case:2:15: expected a value of kind (legacy, versioned), found '1'");
  EXPECT_EQ(
      MessageFor("C drop"),
      "a.case:2:1: expected a thread (A to B) or another first word (strategy, granularity, parameter, threads, bytes, start, "
      "switch), found 'C'");
  EXPECT_EQ(MessageFor("strategy listed\nthreads 1\nstart Q"),
            "a.case:4:7: expected a thread (only A), or one that the program creates (to P), found 'Q'");
}

TEST(TextTest, ANumberOutOfRangeNamesTheRange) {
  EXPECT_EQ(MessageFor("parameter 256"), "a.case:2:11: expected a number from 0 to 255, found '256'");
  EXPECT_EQ(MessageFor("parameter -1"), "a.case:2:11: expected a number from 0 to 255, found '-1'");
  EXPECT_EQ(MessageFor("threads 0"), "a.case:2:9: expected a number from 1 to 8, found '0'");
  EXPECT_EQ(MessageFor("threads 99999999999999999999"),
            "a.case:2:9: expected a number from 1 to 8, found '99999999999999999999'");
  EXPECT_EQ(MessageFor("A export slot=3"), "a.case:2:15: expected a number from 0 to 2, found '3'");
  EXPECT_EQ(MessageFor("A export slot=1x"), "a.case:2:15: expected a number from 0 to 2, found '1x'");
  EXPECT_EQ(MessageFor("A export slot="), "a.case:2:15: expected a number from 0 to 2, found the end of the line");
}

TEST(TextTest, ABrokenScheduleIsShown) {
  const std::string position =
      "expected a position such as 2.1+17 (operation.sync+access; at most 65535.65535+4294967295), found ";
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 2 to B"), "a.case:3:10: " + position + "'2'");
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 65536.0 to B"), "a.case:3:10: " + position + "'65536.0'");
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 2.1+ to B"), "a.case:3:10: " + position + "'2.1+'");
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 2.1-3 to B"), "a.case:3:10: " + position + "'2.1-3'");
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 2.1 B"), "a.case:3:14: expected 'to', found 'B'");
  EXPECT_EQ(MessageFor("strategy listed\nswitch A 2.1 to"),
            "a.case:3:16: expected a thread (A to B), or one that the program creates (to P), found the end of the line");
  EXPECT_EQ(MessageFor("start B"), "a.case:2:1: expected 'strategy listed' above, found 'start' without it");
  EXPECT_EQ(MessageFor("strategy listed\nbytes 00"),
            "a.case:3:1: expected switches, or another strategy above, found bytes under strategy listed");
  EXPECT_EQ(MessageFor("bytes"), "a.case:2:6: expected hexadecimal digits, found the end of the line");
  EXPECT_EQ(MessageFor("bytes 00f"), "a.case:2:9: expected two hexadecimal digits for each byte, found 'f'");
  EXPECT_EQ(MessageFor("bytes 00gf"), "a.case:2:9: expected two hexadecimal digits for each byte, found 'gf'");
}

TEST(TextTest, ALineOutOfPlaceIsRefused) {
  EXPECT_EQ(Message("handoff case 2\n"), "a.case:1:14: expected version 1 of the text form, found '2'");
  EXPECT_EQ(Message("handoff case"), "a.case:1:13: expected version 1 of the text form, found the end of the line");
  EXPECT_EQ(Message(""), "a.case:1:1: expected 'handoff case 1' in the first line, found the end of the line");
  EXPECT_EQ(MessageFor("A drop\nthreads 3"), "a.case:3:1: expected the settings before operations and schedule, found 'threads'");
  EXPECT_EQ(MessageFor("threads 3\nthreads 3"), "a.case:3:1: expected each setting once, found 'threads' again");
  EXPECT_EQ(MessageFor("threads 3 4"), "a.case:2:11: expected the end of the line, found '4'");
  EXPECT_EQ(MessageFor("A consume slot=1 slot=1"), "a.case:2:18: expected each argument once, found 'slot' again");
  EXPECT_EQ(MessageFor("A consume slot"), "a.case:2:11: expected 'slot=' and a value, found 'slot'");
}

TEST(TextTest, MoreThanACaseHoldsIsRefused) {
  std::string operations;
  for (int i = 0; i < kMaxOperations; ++i) operations += "B drop\n";
  EXPECT_EQ(MessageFor(operations), "no error");
  EXPECT_EQ(MessageFor(operations + "A drop"), "a.case:66:1: expected at most 64 operations, found one more");

  const std::string bytes = "bytes " + std::string(2 * kMaxScheduleBytes, '0');
  EXPECT_EQ(MessageFor(bytes), "no error");
  EXPECT_EQ(MessageFor(bytes + "00"), "a.case:2:2055: expected at most 1024 bytes, found more");

  std::string switches = "strategy listed\n";
  for (std::size_t i = 0; i < kMaxSwitches; ++i) switches += "start B\n";
  EXPECT_EQ(MessageFor(switches), "no error");
  EXPECT_EQ(MessageFor(switches + "start B"), "a.case:4099:1: expected at most 4096 switches, found one more");
}

TEST(TextTest, MessagesShowNoControlCharactersAndNoLongWords) {
  EXPECT_EQ(MessageFor("A \x1b[2J" + std::string(100, 'x')),
            "a.case:2:3: expected an operation (export, consume, drop, write, finalize), found '\\x1b[2J" + std::string(36, 'x') +
                "…'");
}

TEST(TextTest, DamagedTextsNeverGiveAnInvalidCase) {
  std::mt19937 random(3);
  int errors = 0;
  for (const Case& c : RandomCases(50)) {
    std::string text = PrintCase(kAlphabet, c);
    text[random() % text.size()] = static_cast<char>(random());
    text.erase(random() % text.size(), random() % 3);
    const CaseOrError result = ParseCase(kAlphabet, text, "a.case");
    if (const auto* parsed = std::get_if<Case>(&result)) {
      EXPECT_TRUE(IsValid(*parsed));
    } else {
      ++errors;
    }
  }
  EXPECT_GT(errors, 0);
}

TEST(TextTest, TextAboveTheFirstLineIsRefusedAndNotTakenForABinaryCase) {
  for (const std::string above : {"# mine\n", "\n", "\xef\xbb\xbf"}) {
    const auto loaded = LoadCase(kAlphabet, ToBytes(above + "handoff case 1\nA drop\n"), "a.case");
    ASSERT_TRUE(std::holds_alternative<TextError>(loaded)) << above;
    EXPECT_EQ(ToString(std::get<TextError>(loaded)).substr(0, 55), "a.case:1:1: expected 'handoff case 1' in the first line")
        << above;
  }
  EXPECT_FALSE(IsText(ToBytes("drop\n")));
  EXPECT_FALSE(IsText(ToBytes("\x01handoff case 1\n")));
}

TEST(TextTest, BothFormsLoad) {
  for (const Case& c : RandomCases(5)) {
    const auto binary = EncodeCase(c);
    const auto text = ToBytes(PrintCase(kAlphabet, c));
    EXPECT_FALSE(IsText(binary));
    EXPECT_TRUE(IsText(text));
    EXPECT_EQ(std::get<Case>(LoadCase(kAlphabet, binary, "")), c);
    EXPECT_EQ(std::get<Case>(LoadCase(kAlphabet, text, "")), c);
    Case loaded;
    EXPECT_FALSE(LoadCase(kAlphabet, text, "", loaded));
    EXPECT_EQ(loaded, c);
  }
}

TEST(TextTest, AnErrorLeavesTheLoadedCaseAlone) {
  Case loaded{.parameter = 7, .threads = {{}}};
  const Case before = loaded;
  const auto error = LoadCase(kAlphabet, ToBytes("handoff case 1\nstart A"), "b.case", loaded);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->file, "b.case");
  EXPECT_EQ(error->line, 2);
  EXPECT_EQ(loaded, before);
}

}  // namespace
}  // namespace handoff
