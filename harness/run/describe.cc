#include "harness/run/describe.h"

#include <array>
#include <cstdio>

namespace handoff {

namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::string_view kSanitizer = "thread";
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::string_view kSanitizer = "address";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::string_view kSanitizer = "thread";
#elif __has_feature(address_sanitizer)
constexpr std::string_view kSanitizer = "address";
#else
constexpr std::string_view kSanitizer = "none";
#endif
#else
constexpr std::string_view kSanitizer = "none";
#endif

// Appends "name": value, with a comma where one is due.
void Add(std::string& json, std::string_view name, const std::string& value) {
  if (json.back() != '{') json += ", ";
  json.append(Quoted(name)).append(": ").append(value);
}

template <typename Range, typename Function>
std::string List(const Range& range, Function describe) {
  std::string json;
  for (const auto& item : range) json += (json.empty() ? "" : ", ") + describe(item);
  return "[" + json + "]";
}

std::string DescribeArgument(const Argument& argument) {
  std::string json = "{";
  Add(json, "name", Quoted(argument.name));
  Add(json, "values", std::to_string(argument.values));
  if (!argument.value_names.empty()) Add(json, "value_names", List(argument.value_names, Quoted));
  return json + "}";
}

std::string DescribeOperation(const OperationKind& operation) {
  std::string arguments;
  for (int i = 0; i < operation.argument_count; ++i) {
    arguments += (i == 0 ? "" : ", ") + DescribeArgument(operation.arguments[static_cast<std::size_t>(i)]);
  }
  std::string json = "{";
  Add(json, "name", Quoted(operation.name));
  Add(json, "arguments", "[" + arguments + "]");
  return json + "}";
}

std::string DescribeTwin(const Twin& twin) {
  std::string json = "{";
  Add(json, "name", Quoted(twin.name));
  Add(json, "breach", Quoted(twin.breach));
  Add(json, "detector", Quoted(twin.detector));
  return json + "}";
}

}  // namespace

std::string_view SanitizerName() { return kSanitizer; }

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
    } else {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      quoted += escape.data();
    }
  }
  return quoted + '"';
}

std::string Describe(const Target& target) {
  std::string json = "{";
  Add(json, "name", Quoted(target.name));
  Add(json, "summary", Quoted(target.summary));
  Add(json, "carrier", Quoted(target.carrier == schedule::Carrier::kFiber ? "fiber" : "thread"));
  Add(json, "sanitizer", Quoted(kSanitizer));
  Add(json, "finest_granularity", Quoted(kGranularityNames[static_cast<std::size_t>(schedule::FinestGranularity())]));
  Add(json, "operations", List(target.alphabet.operations, DescribeOperation));
  Add(json, "twins", List(target.twins, DescribeTwin));
  return json + "}";
}

}  // namespace handoff
