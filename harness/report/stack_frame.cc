#include "harness/report/stack_frame.h"

#include <cctype>
#include <cstddef>

#include "harness/report/function_name.h"

namespace handoff {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::string_view Before(std::string_view s, std::string_view end) { return s.substr(0, s.find(end)); }
bool Contains(std::string_view s, std::string_view part) { return s.find(part) != kNone; }

std::string_view BaseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == kNone ? path : path.substr(slash + 1);
}

// Cuts "(path/module+0x1f)" off the end of a stack's line and returns the module's base name, "" if there is none.
std::string TakeModule(std::string_view& line) {
  const std::size_t id = line.rfind(" (BuildId: ");
  if (id != kNone) line = line.substr(0, id);
  const std::size_t open = line.rfind(" (");
  if (open == kNone || !line.ends_with(')')) return "";
  const std::string_view inside = line.substr(open + 2, line.size() - open - 3);
  const std::size_t plus = inside.rfind("+0x");
  if (plus == kNone) return "";
  line = Trim(line.substr(0, open));
  // "_core.cpython-313t-x86_64-linux-gnu.so": what follows the name belongs to the interpreter's version.
  return std::string(Before(BaseName(inside.substr(0, plus)), ".cpython-"));
}

// Whether the rest is the "file:line:column" of a stack's line, or the "<null>" that stands for it.
bool IsPlace(std::string_view word) {
  return word == "<null>" || Contains(word, "/") || Contains(word, ":") || Contains(word, ".");
}

// "/src/capsule.cc:12:3" gives "capsule.cc:12".
std::string ShortPlace(std::string_view place) {
  if (place == "<null>") return "";
  place = BaseName(place);
  const std::size_t line = place.find(':');
  const std::size_t column = line == kNone ? kNone : place.find(':', line + 1);
  return std::string(place.substr(0, column));
}

}  // namespace

std::string_view Trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

std::optional<Frame> ParseFrame(std::string_view line, std::string_view program) {
  line = Trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  const std::size_t space = line.find(' ');
  if (space == kNone || space < 2 || std::isdigit(static_cast<unsigned char>(line[1])) == 0) return std::nullopt;
  line = Trim(line.substr(space));
  Frame frame;
  frame.module = TakeModule(line);
  bool place = true;
  if (line.starts_with("0x")) {
    const std::size_t in = line.find(" in ");
    // With a module there is no file: the runtime prints the one or the other.
    place = frame.module.empty();
    line = in == kNone ? std::string_view() : Trim(line.substr(in + 4));
  }
  const std::size_t last = line.rfind(' ');
  if (place && last != kNone && IsPlace(line.substr(last + 1))) {
    frame.place = ShortPlace(line.substr(last + 1));
    line = Trim(line.substr(0, last));
  }
  if (line != "<null>") frame.function = PlainFunctionName(line);
  if (frame.module.empty()) frame.module = program;
  return frame;
}

bool IsOwn(const Frame& frame) { return !IsPlumbing(frame.function) && !IsPlumbingModule(frame.module); }

}  // namespace handoff
