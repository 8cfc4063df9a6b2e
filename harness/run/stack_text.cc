#include "harness/run/stack_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/report/function_name.h"
#include "harness/report/stack_frame.h"
#include "harness/run/symbolizer.h"

namespace handoff {

namespace {

using schedule::Stack;
using schedule::StackOf;
using Lines = std::vector<std::string>;

// What the symbolizer says of one address. Kept, since a case that is made smaller waits at the same places hundreds of times.
const Lines& LinesOf(std::uintptr_t pc) {
  static std::map<std::uintptr_t, Lines>& known = *new std::map<std::uintptr_t, Lines>;
  const auto [entry, is_new] = known.try_emplace(pc);
  if (is_new) entry->second = Symbolize(pc, "%f %S %M");
  return entry->second;
}

// "#3 function file:line:column (module+0x1f)", innermost first. The first address is a return address like the others, or where
// a signal struck. A return address is behind its call.
Lines FramesOf(std::span<const std::uintptr_t> addresses, bool struck) {
  Lines frames;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (const std::string& line : LinesOf(addresses[i] - (i == 0 && struck ? 0 : 1))) {
      const bool ours = line.starts_with("handoff::schedule::") || line.find("::HandleVerdict(") != std::string::npos;
      if (frames.empty() && ours) continue;
      frames.push_back("#" + std::to_string(frames.size()) + " " + line);
    }
  }
  return frames;
}
Lines FramesOf(const Stack& stack) {
  return FramesOf(std::span(stack.frames, static_cast<std::size_t>(stack.count)), stack.of == StackOf::kStands);
}

// The innermost frame that says whose code it is.
std::optional<Frame> OwnFrame(const Lines& frames) {
  for (const std::string& line : frames) {
    std::optional<Frame> frame = ParseFrame(line, program_invocation_short_name);
    if (frame && IsOwn(*frame) && !IsWaiting(frame->function)) return frame;
  }
  return std::nullopt;
}

std::string NameOf(int thread) { return std::string("Thread ") + ThreadName(thread); }

std::string HeaderOf(const Stack& stack) {
  switch (stack.of) {
    case StackOf::kWaits:
      return NameOf(stack.thread) + " waits for " + (stack.what != nullptr ? stack.what : "something") +
             (stack.object != 0 ? " #" + std::to_string(stack.object) : "") + ":";
    case StackOf::kTook:
      return "which thread " + std::string(1, ThreadName(stack.thread)) + " took here:";
    case StackOf::kStands:
      break;
  }
  // Between operations a carrier has no letter, and the driver never has one.
  return stack.thread < 0 ? "Outside of all operations this runs:" : NameOf(stack.thread) + " stands here:";
}

Site SiteOf(const Stack& stack) {
  Site site{.module = program_invocation_short_name,
            .function = "",
            .access = stack.what != nullptr ? stack.what : "",
            .place = "",
            .thread = stack.thread};
  if (std::optional<Frame> frame = OwnFrame(FramesOf(stack))) {
    site.module = std::move(frame->module);
    site.function = std::move(frame->function);
    site.place = std::move(frame->place);
  }
  return site;
}

}  // namespace

std::string StacksText(std::span<const Stack> stacks) {
  std::string text;
  for (const Stack& stack : stacks) {
    const Lines frames = FramesOf(stack);
    if (frames.empty()) continue;
    text += "  " + HeaderOf(stack) + "\n";
    for (const std::string& frame : frames) text += "    " + frame + "\n";
  }
  return text;
}

std::vector<std::string> PlacesText(std::span<const schedule::CodePlace> places) {
  std::vector<std::string> texts;
  for (const schedule::CodePlace& place : places) {
    const std::optional<Frame> frame = OwnFrame(FramesOf(std::span(place.frames, static_cast<std::size_t>(place.count)), false));
    texts.push_back(frame ? frame->place : "");
  }
  return texts;
}

Site StandSite(std::span<const Stack> stacks) {
  for (const Stack& stack : stacks) {
    if (stack.of != StackOf::kStands || !stack.decisive) continue;
    Site site = SiteOf(stack);
    site.thread = -1;  // the finding says who failed
    return site;
  }
  return {};
}

std::vector<Site> WaitSites(std::span<const Stack> stacks) {
  std::vector<Site> sites;
  for (const Stack& stack : stacks) {
    if (stack.of != StackOf::kWaits) continue;
    sites.push_back(SiteOf(stack));
    sites.back().decisive = stack.decisive;
  }
  const bool known =
      std::any_of(sites.begin(), sites.end(), [](const Site& site) { return site.decisive && !site.function.empty(); });
  return known ? sites : std::vector<Site>();
}

}  // namespace handoff
