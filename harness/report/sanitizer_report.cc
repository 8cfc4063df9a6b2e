#include "harness/report/sanitizer_report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <utility>

#include "harness/report/function_name.h"
#include "harness/report/stack_frame.h"

namespace handoff {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// A stack with the line above it, which says what the stack is of. `header` points into the report.
struct Stack {
  std::string_view header;
  std::vector<Frame> frames;
};

std::string_view NextLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view Before(std::string_view s, std::string_view end) { return s.substr(0, s.find(end)); }
bool Contains(std::string_view s, std::string_view part) { return s.find(part) != kNone; }

// "lock-order-inversion (potential deadlock)" gives "lock-order-inversion"; at most `most` words, those with digits or quotes
// left out, since they are values.
std::string Slug(std::string_view words, int most) {
  std::string slug;
  words = Trim(words);
  while (!words.empty() && most > 0) {
    const std::string_view word = Before(words, " ");
    words = Trim(words.substr(word.size()));
    if (std::any_of(word.begin(), word.end(),
                    [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '\''; })) {
      continue;
    }
    if (!slug.empty()) slug += '-';
    for (const char c : word) {
      const auto u = static_cast<unsigned char>(c);
      if (std::isalnum(u) != 0 || c == '-' || c == '_') slug += static_cast<char>(std::tolower(u));
    }
    --most;
  }
  return slug;
}

// "by thread T2", "thread T0", "by main thread": the report's number of the thread.
int ReportedThread(std::string_view header) {
  if (Contains(header, "main thread")) return 0;
  const std::size_t at = header.find("thread T");
  if (at == kNone) return -1;
  int number = -1;
  const std::string_view digits = header.substr(at + 8);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string AccessOf(std::string_view header) {
  std::string small(header);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (Contains(small, "acquired here")) return "lock";
  if (Contains(small, "freed by") || Contains(small, "attempting ")) return "free";
  for (const char* access : {"atomic read", "atomic write", "read", "write"}) {
    const std::string words(access);
    if (Contains(small, words + " of size") || Contains(small, "by a " + words + " memory access")) return words;
  }
  return "";
}

// The first frame that says whose the access is; else the innermost with a name; else nameless. A free on the way there makes the
// access one.
Site SiteOf(const Stack& stack, std::string_view program) {
  Site site{.module = std::string(program),
            .function = "",
            .access = AccessOf(stack.header),
            .place = "",
            .reported = ReportedThread(stack.header)};
  const auto ours = std::find_if(stack.frames.begin(), stack.frames.end(), IsOwn);
  if (std::any_of(stack.frames.begin(), ours, [](const Frame& f) { return IsFree(f.function); }) &&
      !site.access.ends_with("read")) {
    site.access = "free";
  }
  const auto named = std::find_if(stack.frames.begin(), stack.frames.end(), [](const Frame& f) { return !f.function.empty(); });
  const auto chosen = ours != stack.frames.end() ? ours : named;
  if (chosen == stack.frames.end()) return site;
  site.module = chosen->module;
  site.function = chosen->function;
  site.place = chosen->place;
  return site;
}

// Behind "Sanitizer: ", or behind "runtime error: ".
std::string KindOf(std::string_view header) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSpecial = {
      {{"attempting free on address which was not malloc", "bad-free"},
       {"attempting double-free", "double-free"},
       {"detected memory leaks", "memory-leak"},
       {"requested allocation size", "allocation-size-too-big"},
       {"CHECK failed", "check-failed"}}};
  for (const auto& [start, kind] : kSpecial) {
    if (header.starts_with(start)) return std::string(kind);
  }
  for (const std::string_view end : {" (", " on unknown address", " on address", " on 0x", " in thread", ": "})
    header = Before(header, end);
  return Slug(header, 8);
}

std::string UndefinedKindOf(std::string_view header) {
  for (const std::string_view end : {":", ",", " of type", " for type"}) header = Before(header, end);
  return "ub-" + Slug(header, 6);
}

// Where the report starts and what follows the words that announce it.
struct Start {
  std::size_t line = kNone;
  std::string_view header;
  bool undefined = false;  // UBSan's
};

Start FindStart(std::string_view text) {
  Start undefined;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto offset = static_cast<std::size_t>(rest.data() - text.data());
    const std::string_view line = NextLine(rest);
    const std::size_t name = line.find("Sanitizer: ");
    if (name != kNone && (Contains(line.substr(0, name), "ERROR: ") || Contains(line.substr(0, name), "WARNING: "))) {
      return {.line = offset, .header = line.substr(name + 11)};
    }
    constexpr std::string_view kUndefined = ": runtime error: ";
    const std::size_t error = line.find(kUndefined);
    if (undefined.line == kNone && error != kNone) {
      undefined = {.line = offset, .header = line.substr(error + kUndefined.size()), .undefined = true};
    }
  }
  return undefined;
}

// The report's lines: to its summary, or to the start of the next one.
std::string_view Extent(std::string_view text) {
  std::string_view rest = text;
  NextLine(rest);
  while (!rest.empty()) {
    const auto offset = static_cast<std::size_t>(rest.data() - text.data());
    const std::string_view line = NextLine(rest);
    if (line.starts_with("SUMMARY: ")) return text.substr(0, text.size() - rest.size());
    if (line.starts_with("====") || Contains(line, "Sanitizer:DEADLYSIGNAL")) return text.substr(0, offset);
  }
  return text;
}

std::vector<Stack> StacksOf(std::string_view report, std::string_view program) {
  std::vector<Stack> stacks;
  std::string_view header;
  bool in_stack = false;
  while (!report.empty()) {
    const std::string_view line = NextLine(report);
    if (std::optional<Frame> frame = ParseFrame(line, program)) {
      if (!in_stack) stacks.push_back({.header = header, .frames = {}});
      stacks.back().frames.push_back(std::move(*frame));
      in_stack = true;
    } else {
      in_stack = false;
      // A fatal signal's access is two lines above its stack, behind the hint where there is one.
      if (Contains(line, "failed to restore the stack")) stacks.push_back({.header = header, .frames = {}});
      if (!Trim(line).empty() && !Contains(line, "Hint: ")) header = line;
    }
  }
  return stacks;
}

// Whether a stack behind the first one is another access: the other half of a race, another lock, who freed the memory.
bool IsSite(const Stack& stack) {
  const std::string_view header = Trim(stack.header);
  return header.starts_with("Previous ") || header.starts_with("freed by ") || header.starts_with("Read of") ||
         header.starts_with("Write of") || Contains(header, " acquired here");
}

}  // namespace

std::optional<SanitizerReport> ParseSanitizerReport(std::string_view text, std::string_view program) {
  const Start start = FindStart(text);
  if (start.line == kNone) return std::nullopt;
  const std::string_view extent = Extent(text.substr(start.line));
  SanitizerReport report{
      .kind = start.undefined ? UndefinedKindOf(start.header) : KindOf(start.header), .sites = {}, .text = std::string(extent)};
  const std::vector<Stack> stacks = StacksOf(extent, program);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (i == 0 || IsSite(stacks[i])) report.sites.push_back(SiteOf(stacks[i], program));
  }
  return report;
}

}  // namespace handoff
