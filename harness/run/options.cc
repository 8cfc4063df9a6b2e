#include "harness/run/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>

namespace handoff {

namespace {

// With one of these, files on the command line are libFuzzer's business.
constexpr std::array<std::string_view, 9> kOtherModes = {"minimize_crash",
                                                         "minimize_crash_internal_step",
                                                         "merge",
                                                         "set_cover_merge",
                                                         "merge_inner",
                                                         "cleanse_crash",
                                                         "fork",
                                                         "help",
                                                         "collect_data_flow"};

std::string Listing(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string Refusal(std::string_view variable, std::string_view expected, std::string_view found) {
  return std::string(variable) + ": expected " + std::string(expected) + ", found '" + std::string(found) + "'";
}

// The index of a name in a list, or -1.
int Find(std::span<const std::string_view> names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

bool ReadNumber(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Each of these reads one variable and returns what is wrong with it, or "".
std::string ReadStrategy(Environment environment, Options& options) {
  const char* text = environment("HANDOFF_STRATEGY");
  if (text == nullptr || *text == '\0') return "";
  const int index = Find(kStrategyNames, text);
  if (index < 0) return Refusal("HANDOFF_STRATEGY", "one of " + Listing(kStrategyNames), text);
  options.strategy = static_cast<Strategy>(index);
  return "";
}

std::string ReadGranularity(Environment environment, Options& options) {
  const char* text = environment("HANDOFF_GRANULARITY");
  if (text == nullptr || *text == '\0') return "";
  const int index = Find(kGranularityNames, text);
  if (index < 0) return Refusal("HANDOFF_GRANULARITY", "one of " + Listing(kGranularityNames), text);
  options.granularity = static_cast<Granularity>(index);
  return "";
}

std::string ReadParameter(Environment environment, Options& options) {
  const char* text = environment("HANDOFF_PARAMETER");
  if (text == nullptr || *text == '\0') return "";
  int number = -1;
  if (!ReadNumber(text, number) || number < 0 || number > 255)
    return Refusal("HANDOFF_PARAMETER", "a number from 0 to 255", text);
  options.parameter = static_cast<std::uint8_t>(number);
  return "";
}

std::string ReadConfirmSeconds(Environment environment, Options& options) {
  const char* text = environment("HANDOFF_CONFIRM_SECONDS");
  if (text == nullptr || *text == '\0') return "";
  if (ReadNumber(text, options.confirm_seconds) && options.confirm_seconds >= 1 && options.confirm_seconds <= 3600) return "";
  return Refusal("HANDOFF_CONFIRM_SECONDS", "a number from 1 to 3600", text);
}

std::string ReadSwitch(const char* name, Environment environment, bool& on) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return "";
  const std::string_view value = text;
  on = value == "1";
  return on || value == "0" ? "" : Refusal(name, "0 or 1", value);
}

std::string ReadTwin(const Target& target, Environment environment, Options& options) {
  const char* text = environment("HANDOFF_TWIN");
  if (text == nullptr || *text == '\0') return "";
  std::vector<std::string_view> names;
  for (const Twin& twin : target.twins) names.push_back(twin.name);
  options.twin = Find(names, text);
  if (options.twin >= 0) return "";
  if (names.empty()) return Refusal("HANDOFF_TWIN", "none, since " + std::string(target.name) + " has no twins", text);
  return Refusal("HANDOFF_TWIN", "one of " + Listing(names) + " (or unset, for the safe one)", text);
}

std::string ReadCarrier(const Target& target, Environment environment, Options& options) {
  options.carrier = target.carrier;
  const char* text = environment("HANDOFF_CARRIER");
  if (text == nullptr || *text == '\0') return "";
  const std::string_view name = text;
  if (name == "thread") {
    options.carrier = schedule::Carrier::kThread;
  } else if (name != "fiber") {
    return Refusal("HANDOFF_CARRIER", "one of fiber, thread", name);
  } else if (target.carrier != schedule::Carrier::kFiber) {
    return Refusal("HANDOFF_CARRIER", "thread, since what " + std::string(target.name) + " runs needs threads of its own", name);
  }
  return "";
}

// Returns what is wrong, or "".
std::string ReadFlags(const std::vector<std::string>& arguments, Options& options) {
  bool other_mode = false;
  bool all_files = true;
  for (const std::string& argument : arguments) {
    if (argument == "-ignore_remaining_args=1") break;
    if (!argument.starts_with('-')) {
      std::error_code ignored;
      if (!std::filesystem::exists(argument, ignored))
        return argument + ": expected a case file or a folder of them, found nothing";
      all_files = all_files && std::filesystem::is_regular_file(argument, ignored);
      options.files.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = argument.substr(1, equals - 1);
    const std::string value = argument.substr(equals + 1);
    int number = 0;
    const bool is_number = ReadNumber(value, number);
    if (name == "artifact_prefix") options.artifact_prefix = value;
    if (name == "exact_artifact_path") options.exact_artifact_path = value;
    if (name == "timeout" && is_number) options.timeout_seconds = std::clamp(number, 0, 9999);
    if (name == "runs" && is_number) options.runs = std::max(number, 1);
    if (name == "minimize_crash_internal_step" && value != "0") options.minimizes = true;
    if ((name == "merge" || name == "set_cover_merge" || name == "merge_inner") && value != "0") options.merges = true;
    if (Find(kOtherModes, name) >= 0 && value != "0") other_mode = true;
  }
  if (other_mode || !all_files) options.files.clear();
  return "";
}

// Letters to be changed, added or left out to make one of the other (Levenshtein's distance).
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::variant<Options, std::string> ReadOptions(const Target& target, const std::vector<std::string>& arguments,
                                               Environment environment) {
  Options options;
  for (const std::string& error :
       {ReadStrategy(environment, options), ReadGranularity(environment, options), ReadParameter(environment, options),
        ReadConfirmSeconds(environment, options), ReadTwin(target, environment, options),
        ReadCarrier(target, environment, options), ReadSwitch("HANDOFF_DESCRIBE", environment, options.describe),
        ReadSwitch("HANDOFF_PRINT_TEXT", environment, options.print_text), ReadSwitch("HANDOFF_WHY", environment, options.why),
        ReadFlags(arguments, options)}) {
    if (!error.empty()) return error;
  }
  const char* json = environment("HANDOFF_REPLAY_JSON");
  options.replay_json = json == nullptr ? "" : json;
  return options;
}

std::string MisspeltVariable(const char* const* environment) {
  constexpr std::array<std::string_view, 11> kNames = {"HANDOFF_STRATEGY",        "HANDOFF_GRANULARITY", "HANDOFF_PARAMETER",
                                                       "HANDOFF_CONFIRM_SECONDS", "HANDOFF_TWIN",        "HANDOFF_CARRIER",
                                                       "HANDOFF_DESCRIBE",        "HANDOFF_PRINT_TEXT",  "HANDOFF_WHY",
                                                       "HANDOFF_REPLAY_JSON",     "HANDOFF_CACHE"};
  constexpr std::size_t kSlips = 2;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("HANDOFF_") || Find(kNames, name) >= 0) continue;
    const auto* const meant =
        std::ranges::find_if(kNames, [&](std::string_view known) { return Distance(name, known) <= kSlips; });
    if (meant != kNames.end()) return std::string(name) + ": no such variable. Did you mean " + std::string(*meant) + "?";
  }
  return "";
}

bool HasOverrides(const Options& options) { return options.strategy || options.granularity || options.parameter; }

void Override(const Options& options, Case& c) {
  if (options.granularity) c.granularity = *options.granularity;
  if (options.parameter) c.parameter = *options.parameter;
  if (!options.strategy || *options.strategy == c.strategy) return;
  c.strategy = *options.strategy;
  if (c.strategy == Strategy::kListed) c.bytes.clear();
  if (c.strategy != Strategy::kListed) c.switches.clear();
}

}  // namespace handoff
