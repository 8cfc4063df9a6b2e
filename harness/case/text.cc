#include "harness/case/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <functional>
#include <utility>

#include "harness/case/binary.h"

namespace handoff {
namespace {

constexpr std::string_view kFirstWords = "handoff case";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kBytesPerLine = 32;
// Longer words are cut in messages: a binary file under a text header is one long word.
constexpr std::size_t kQuotedCharacters = 40;

// Words that start a line; all others are a thread and its operation. The settings come first.
enum Statement : std::uint8_t { kStrategy, kGranularity, kParameter, kThreads, kBytes, kStart, kSwitch, kStatements };
constexpr std::array<std::string_view, kStatements> kStatementNames = {"strategy", "granularity", "parameter", "threads",
                                                                       "bytes",    "start",       "switch"};

// A word of a line; empty at the end of the line.
struct Word {
  std::string_view text;
  std::size_t column = 0;  // from 0
};

// Index of the element whose name is `name`, or the number of elements.
template <class Range, class GetName>
std::size_t FindName(const Range& range, std::string_view name, GetName get_name) {
  return static_cast<std::size_t>(std::ranges::find(range, name, get_name) - range.begin());
}

// "what (a, b, c)".
template <class Range, class GetName>
std::string ListNames(std::string_view what, const Range& range, GetName get_name) {
  std::string out(what);
  std::string_view separator = " (";
  for (const auto& element : range) {
    out.append(separator).append(std::invoke(get_name, element));
    separator = ", ";
  }
  return out + (range.empty() ? " (there are none)" : ")");
}

std::string Quote(std::string_view word) {
  if (word.empty()) return "the end of the line";
  std::string out = "'";
  for (const char c : word.substr(0, kQuotedCharacters)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append("\\x").append({kHexDigits[byte >> 4], kHexDigits[byte & 15]});
    }
  }
  return out + (word.size() > kQuotedCharacters ? "…'" : "'");
}

// Reads a number from the front of `text` and removes it there.
template <std::unsigned_integral Number>
bool TakeNumber(std::string_view& text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads one line after the other. Each Read function takes words off the line and returns false after the first error.
class Parser {
 public:
  explicit Parser(const Alphabet& alphabet) : alphabet_(alphabet) { case_.threads.resize(kDefaultThreads); }

  bool ReadLine(std::string_view line) {
    ++error_.line;
    line_ = line.substr(0, line.find('#'));
    position_ = 0;
    return error_.line == 1 ? ReadFirstLine() : ReadStatement();
  }

  Case& result() { return case_; }
  TextError& error() { return error_; }

 private:
  Word Next() {
    constexpr std::string_view kSpaces = " \t\r";
    position_ = std::min(line_.find_first_not_of(kSpaces, position_), line_.size());
    const std::size_t begin = position_;
    position_ = std::min(line_.find_first_of(kSpaces, begin), line_.size());
    return {line_.substr(begin, position_ - begin), begin};
  }

  bool Fail(const Word& word, std::string expected) { return Fail(word, std::move(expected), Quote(word.text)); }
  bool Fail(const Word& word, std::string expected, std::string found) {
    error_.column = static_cast<int>(word.column) + 1;
    error_.expected = std::move(expected);
    error_.found = std::move(found);
    return false;
  }

  bool ReadExactly(std::string_view text) {
    const Word word = Next();
    return word.text == text || Fail(word, text.empty() ? "the end of the line" : Quote(text));
  }

  bool ReadFirstLine() {
    const Word first = Next();
    if (first.text != "handoff") return Fail(first, "'handoff case 1' in the first line");
    if (!ReadExactly("case")) return false;
    const Word version = Next();
    return version.text == "1" ? ReadExactly("") : Fail(version, "version 1 of the text form");
  }

  bool ReadStatement() {
    const Word word = Next();
    if (word.text.empty()) return true;
    const std::size_t statement = FindName(kStatementNames, word.text, std::identity{});
    if (statement < kBytes) return ReadSetting(word, statement) && ReadExactly("");
    settings_over_ = true;
    if (statement == kBytes) return ReadBytes(word);
    if (statement == kStart) return ReadStart(word) && ReadExactly("");
    if (statement == kSwitch) return ReadSwitch(word) && ReadExactly("");
    return ReadOperation(word);
  }

  bool ReadSetting(const Word& word, std::size_t setting) {
    if (settings_over_) return Fail(word, "the settings before operations and schedule");
    if (std::exchange(is_set_[setting], true)) return Fail(word, "each setting once", Quote(word.text) + " again");
    std::size_t value = 0;
    switch (setting) {
      case kStrategy:
        if (!ParseName(Next(), "a strategy", kStrategyNames, value)) return false;
        case_.strategy = static_cast<Strategy>(value);
        return true;
      case kGranularity:
        if (!ParseName(Next(), "a granularity", kGranularityNames, value)) return false;
        case_.granularity = static_cast<Granularity>(value);
        return true;
      case kParameter:
        if (!ParseNumber(Next(), 0, 255, value)) return false;
        case_.parameter = static_cast<std::uint8_t>(value);
        return true;
      default:
        if (!ParseNumber(Next(), 1, kMaxThreads, value)) return false;
        case_.threads.resize(value);
        return true;
    }
  }

  bool ParseName(const Word& word, std::string_view what, std::span<const std::string_view> names, std::size_t& out) {
    out = FindName(names, word.text, std::identity{});
    return out < names.size() || Fail(word, ListNames(what, names, std::identity{}));
  }

  bool ParseNumber(const Word& word, std::size_t least, std::size_t most, std::size_t& out) {
    std::string_view rest = word.text;
    if (TakeNumber(rest, out) && rest.empty() && out >= least && out <= most) return true;
    return Fail(word, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  bool IsThread(const Word& word) const {
    return word.text.size() == 1 && word.text[0] >= 'A' && word.text[0] < ThreadName(static_cast<int>(case_.threads.size()));
  }

  std::string ThreadsAllowed() const {
    const char last = ThreadName(static_cast<int>(case_.threads.size()) - 1);
    return std::string("a thread (") + (last == 'A' ? "only A" : std::string("A to ") + last) + ")";
  }

  // Of a switch: threads that the program creates have the letters behind its own.
  bool ReadThread(std::uint8_t& out) {
    const Word word = Next();
    if (word.text.size() != 1 || word.text[0] < 'A' || word.text[0] >= ThreadName(kMaxScheduled)) {
      return Fail(word, ThreadsAllowed() + ", or one that the program creates (to " + ThreadName(kMaxScheduled - 1) + ")");
    }
    out = static_cast<std::uint8_t>(word.text[0] - 'A');
    return true;
  }

  bool ReadOperation(const Word& thread) {
    if (!IsThread(thread)) {
      return Fail(thread, ListNames(ThreadsAllowed() + " or another first word", kStatementNames, std::identity{}));
    }
    if (OperationCount(case_) == kMaxOperations) {
      return Fail(thread, "at most " + std::to_string(kMaxOperations) + " operations", "one more");
    }
    const Word name = Next();
    Operation operation;
    const std::size_t code = FindName(alphabet_.operations, name.text, &OperationKind::name);
    if (code == alphabet_.operations.size()) {
      return Fail(name, ListNames("an operation", alphabet_.operations, &OperationKind::name));
    }
    operation.code = static_cast<std::uint8_t>(code);
    if (!ReadArguments(alphabet_.operations[code], operation)) return false;
    case_.threads[static_cast<std::size_t>(thread.text[0] - 'A')].push_back(operation);
    return true;
  }

  bool ReadArguments(const OperationKind& kind, Operation& operation) {
    const auto arguments = std::span(kind.arguments).first(static_cast<std::size_t>(kind.argument_count));
    std::array<bool, kMaxArguments> given{};
    for (Word word = Next(); !word.text.empty(); word = Next()) {
      const std::size_t equals = std::min(word.text.find('='), word.text.size());
      const Word name{word.text.substr(0, equals), word.column};
      const std::size_t index = FindName(arguments, name.text, &Argument::name);
      if (index == arguments.size()) {
        return Fail(name, ListNames("an argument of " + std::string(kind.name), arguments, &Argument::name));
      }
      if (std::exchange(given[index], true)) return Fail(name, "each argument once", Quote(name.text) + " again");
      if (equals == word.text.size()) return Fail(word, Quote(std::string(name.text) + "=") + " and a value");
      const Word value{word.text.substr(equals + 1), word.column + equals + 1};
      if (!ParseValue(arguments[index], value, operation.arguments[index])) return false;
    }
    return true;
  }

  bool ParseValue(const Argument& argument, const Word& word, std::uint8_t& out) {
    std::size_t value = 0;
    const bool ok = argument.value_names.empty()
                        ? ParseNumber(word, 0, static_cast<std::size_t>(argument.values - 1), value)
                        : ParseName(word, "a value of " + std::string(argument.name), argument.value_names, value);
    out = static_cast<std::uint8_t>(value);
    return ok;
  }

  bool ReadBytes(const Word& statement) {
    if (case_.strategy == Strategy::kListed) {
      return Fail(statement, "switches, or another strategy above", "bytes under strategy listed");
    }
    Word word = Next();
    do {
      if (!ParseBytes(word)) return false;
      word = Next();
    } while (!word.text.empty());
    return true;
  }

  bool ParseBytes(const Word& word) {
    if (word.text.empty()) return Fail(word, "hexadecimal digits");
    for (std::size_t i = 0; i < word.text.size(); i += 2) {
      const Word pair{word.text.substr(i, 2), word.column + i};
      const int high = HexDigit(pair.text.front());
      const int low = HexDigit(pair.text.back());
      if (pair.text.size() < 2 || high < 0 || low < 0) return Fail(pair, "two hexadecimal digits for each byte");
      if (case_.bytes.size() == kMaxScheduleBytes) {
        return Fail(pair, "at most " + std::to_string(kMaxScheduleBytes) + " bytes", "more");
      }
      case_.bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
    }
    return true;
  }

  bool ReadStart(const Word& statement) {
    Switch s{.thread = kGate};
    return ReadThread(s.to) && AddSwitch(statement, s);
  }

  bool ReadSwitch(const Word& statement) {
    Switch s;
    return ReadThread(s.thread) && ReadPosition(s.at) && ReadExactly("to") && ReadThread(s.to) && AddSwitch(statement, s);
  }

  bool ReadPosition(Position& at) {
    const Word word = Next();
    std::string_view rest = word.text;
    if (TakeNumber(rest, at.operation) && TakePrefix(rest, ".") && TakeNumber(rest, at.sync) &&
        (rest.empty() || (TakePrefix(rest, "+") && TakeNumber(rest, at.access) && rest.empty()))) {
      return true;
    }
    return Fail(word, "a position such as 2.1+17 (operation.sync+access; at most 65535.65535+4294967295)");
  }

  bool AddSwitch(const Word& statement, const Switch& s) {
    if (case_.strategy != Strategy::kListed)
      return Fail(statement, "'strategy listed' above", Quote(statement.text) + " without it");
    if (case_.switches.size() == kMaxSwitches) {
      return Fail(statement, "at most " + std::to_string(kMaxSwitches) + " switches", "one more");
    }
    case_.switches.push_back(s);
    return true;
  }

  const Alphabet& alphabet_;  // the caller's
  std::string_view line_;     // without its comment
  std::size_t position_ = 0;  // in line_
  bool settings_over_ = false;
  std::array<bool, kBytes> is_set_{};
  Case case_;
  TextError error_;  // its line counts on from the start
};

void PrintSwitch(const Switch& s, std::string& out) {
  if (s.thread == kGate) {
    out.append("start ");
  } else {
    out.append("switch ").append({ThreadName(s.thread), ' '});
    out.append(std::to_string(s.at.operation)).append(".").append(std::to_string(s.at.sync));
    if (s.at.access != 0) out.append("+").append(std::to_string(s.at.access));
    out.append(" to ");
  }
  out.append({ThreadName(s.to), '\n'});
}

void PrintBytes(std::span<const std::uint8_t> bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kBytesPerLine == 0) out.append(i == 0 ? "bytes " : "\nbytes ");
    out.append({kHexDigits[bytes[i] >> 4], kHexDigits[bytes[i] & 15]});
  }
  if (!bytes.empty()) out += '\n';
}

void PrintComment(std::string_view comment, std::string& out) {
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    out.append(end == 0 ? "#" : "# ").append(comment.substr(0, end)).append("\n");
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
}

std::string_view AsText(std::span<const std::uint8_t> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};  // both are bytes
}

}  // namespace

std::string ToString(const TextError& error) {
  return error.file + ":" + std::to_string(error.line) + ":" + std::to_string(error.column) + ": expected " + error.expected +
         ", found " + error.found;
}

CaseOrError ParseCase(const Alphabet& alphabet, std::string_view text, std::string_view file_name) {
  Parser parser(alphabet);
  while (true) {
    const std::size_t end = text.find('\n');
    if (!parser.ReadLine(text.substr(0, end))) {
      parser.error().file = file_name;
      return std::move(parser.error());
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::move(parser.result());
}

std::string PrintOperation(const Alphabet& alphabet, const Operation& operation) {
  const OperationKind& kind = alphabet.operations[operation.code];
  std::string out(kind.name);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kind.argument_count); ++i) {
    const Argument& argument = kind.arguments[i];
    const std::uint8_t value = operation.arguments[i];
    out.append(" ").append(argument.name).append("=");
    out.append(argument.value_names.empty() ? std::to_string(value) : std::string(argument.value_names[value]));
  }
  return out;
}

std::string PrintCase(const Alphabet& alphabet, const Case& c, std::string_view comment) {
  std::string out = "handoff case 1\n";
  PrintComment(comment, out);
  out.append("strategy ").append(kStrategyNames[static_cast<std::size_t>(c.strategy)]);
  out.append("\ngranularity ").append(kGranularityNames[static_cast<std::size_t>(c.granularity)]);
  if (c.parameter != 0) out.append("\nparameter ").append(std::to_string(c.parameter));
  out.append("\nthreads ").append(std::to_string(c.threads.size())).append("\n");
  for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
    for (const Operation& operation : c.threads[thread]) {
      out.append({ThreadName(static_cast<int>(thread)), ' '}).append(PrintOperation(alphabet, operation)).append("\n");
    }
  }
  PrintBytes(c.bytes, out);
  for (const Switch& s : c.switches) PrintSwitch(s, out);
  return out;
}

bool IsText(std::span<const std::uint8_t> data) {
  const std::string_view text = AsText(data);
  if (text.starts_with(kFirstWords)) return true;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t'; };
  return std::none_of(text.begin(), text.end(), is_control) && text.find(kFirstWords) != std::string_view::npos;
}

CaseOrError LoadCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, std::string_view file_name) {
  if (IsText(data)) return ParseCase(alphabet, AsText(data), file_name);
  return DecodeCase(alphabet, data);
}

std::optional<TextError> LoadCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, std::string_view file_name,
                                  Case& out) {
  if (!IsText(data)) {
    DecodeCase(alphabet, data, out);
    return std::nullopt;
  }
  CaseOrError result = ParseCase(alphabet, AsText(data), file_name);
  if (auto* error = std::get_if<TextError>(&result)) return std::move(*error);
  out = std::get<Case>(std::move(result));
  return std::nullopt;
}

}  // namespace handoff
