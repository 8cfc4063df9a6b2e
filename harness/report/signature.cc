#include "harness/report/signature.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/report/trace_reader.h"

namespace handoff {
namespace {

// Signatures stand on lines of their own and between "--": blanks become single hyphens.
std::string OneWord(std::string_view text) {
  std::string word;
  for (const char c : text) word += std::isspace(static_cast<unsigned char>(c)) != 0 ? '-' : c;
  return word;
}

std::string SiteWord(const Site& site) {
  std::string word = OneWord(site.module) + ":" + (site.function.empty() ? "unknown" : OneWord(site.function));
  if (!site.access.empty()) word += ":" + OneWord(site.access);
  return word;
}

std::string Join(std::string_view kind, const std::vector<std::string>& parts) {
  std::string signature = OneWord(kind);
  for (const std::string& part : parts) {
    if (!part.empty()) signature += "--" + part;
  }
  return signature;
}

// FNV-1a (Fowler, Noll, Vo), folded to 32 bits: the same on every platform.
std::uint32_t Hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

bool HasUnorderedSites(std::string_view kind) {
  return kind.starts_with("data-race") || kind == "race-on-external-object" || kind == "lock-order-inversion";
}

std::string Signature(const Finding& finding, const Alphabet& alphabet) {
  std::vector<std::string> parts;
  if (finding.kind == "deadlock" && !finding.sites.empty()) {
    for (const Site& site : finding.sites) {
      if (site.decisive) parts.push_back(SiteWord(site));
    }
    const std::size_t threads = parts.size();
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    // Two threads in each other's way at one place are another bug than one thread in its own.
    if (parts.size() == 1 && threads > 1 && HasCycle(finding)) parts.push_back(parts.front());
    return Join(finding.kind, parts);
  }
  if (finding.kind == "deadlock") {
    for (const std::string& object : WaitedFor(finding)) parts.push_back(OneWord(object));
    return Join(finding.kind, parts);
  }
  if (!finding.sites.empty()) {
    for (const Site& site : finding.sites) {
      parts.push_back(SiteWord(site));
      if (!HasUnorderedSites(finding.kind)) break;
    }
    std::sort(parts.begin(), parts.end());
    return Join(finding.kind, parts);
  }
  parts.push_back(OneWord(finding.rule));
  const std::optional<Operation> operation = FailingOperation(finding);
  const bool known = operation.has_value() && operation->code < alphabet.operations.size();
  parts.push_back(known ? OneWord(alphabet.operations[operation->code].name) : "end");
  return Join(finding.kind, parts);
}

std::string SignatureFolder(std::string_view signature) {
  std::string name;
  for (const char letter : signature) {
    const auto c = static_cast<unsigned char>(letter);
    const bool plain = std::isalnum(c) != 0 || (c < 0x80 && std::string_view("._+-").find(letter) != std::string_view::npos);
    if (plain) {
      name += letter;
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
  // Neither hidden nor the folder above.
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  if (name == signature && name.size() <= kMaxFolderName) return name;
  constexpr std::size_t kHashed = 9;
  name.resize(std::min(name.size(), kMaxFolderName - kHashed));
  name += '-';
  const std::uint32_t hash = Hash(signature);
  for (int shift = 28; shift >= 0; shift -= 4) name += "0123456789abcdef"[hash >> shift & 15U];
  return name;
}

std::string DedupTokenLine(std::string_view signature) { return "DEDUP_TOKEN: " + std::string(signature) + "\n"; }

}  // namespace handoff
