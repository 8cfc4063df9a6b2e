#include "harness/case/binary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace handoff {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kOperationSize = 2 + kMaxArguments;
constexpr std::size_t kSwitchSize = 10;

// Where a value stands in the header.
enum Field : std::uint8_t { kMagic0, kMagic1, kVersion, kStrategy, kGranularity, kThreads, kParameter, kOperations, kHeaderSize };
using Header = std::array<std::uint8_t, kHeaderSize>;

Header MakeHeader(const Case& c, std::size_t threads) {
  return {0xca,
          0x5e,
          1,
          static_cast<std::uint8_t>(c.strategy),
          static_cast<std::uint8_t>(c.granularity),
          static_cast<std::uint8_t>(threads),
          c.parameter,
          static_cast<std::uint8_t>(OperationCount(c))};
}

// Gives `threads` `count` empty lists. Lists that are not needed wait in a pool, with their memory, for a case of more threads.
void ResetThreads(std::vector<std::vector<Operation>>& threads, std::size_t count) {
  static thread_local std::vector<std::vector<Operation>> pool;
  while (threads.size() > count) {
    if (pool.size() < kMaxThreads) pool.push_back(std::move(threads.back()));
    threads.pop_back();
  }
  while (threads.size() < count) {
    if (pool.empty()) pool.emplace_back();
    threads.push_back(std::move(pool.back()));
    pool.pop_back();
  }
  for (auto& thread : threads) {
    thread.clear();
    thread.reserve(kMaxOperations);
  }
}

std::uint32_t ReadInteger(Bytes little_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = little_endian.size(); i-- > 0;) value = value << 8 | little_endian[i];
  return value;
}

void WriteInteger(std::vector<std::uint8_t>& out, std::uint32_t value, int size) {
  for (int i = 0; i < size; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void ReadOperation(Bytes record, Case& c) {
  Operation operation{.code = record[1]};
  std::copy_n(record.begin() + 2, kMaxArguments, operation.arguments.begin());
  c.threads[record[0] % c.threads.size()].push_back(operation);
}

Switch ReadSwitch(Bytes record) {
  return {.thread = record[0],
          .to = record[1],
          .at = {.operation = static_cast<std::uint16_t>(ReadInteger(record.subspan(2, 2))),
                 .sync = static_cast<std::uint16_t>(ReadInteger(record.subspan(4, 2))),
                 .access = ReadInteger(record.subspan(6, 4))}};
}

void WriteSwitch(std::vector<std::uint8_t>& out, const Switch& s) {
  out.push_back(s.thread);
  out.push_back(s.to);
  WriteInteger(out, s.at.operation, 2);
  WriteInteger(out, s.at.sync, 2);
  WriteInteger(out, s.at.access, 4);
}

void ReadSchedule(Bytes data, Case& c) {
  c.bytes.clear();
  c.switches.clear();
  if (c.strategy != Strategy::kListed) {
    data = data.first(std::min(data.size(), kMaxScheduleBytes));
    c.bytes.assign(data.begin(), data.end());
    return;
  }
  const std::size_t count = std::min(data.size() / kSwitchSize, kMaxSwitches);
  for (std::size_t i = 0; i < count; ++i) c.switches.push_back(ReadSwitch(data.subspan(i * kSwitchSize, kSwitchSize)));
}

}  // namespace

Case DecodeCase(const Alphabet& alphabet, std::span<const std::uint8_t> data) {
  Case c;
  DecodeCase(alphabet, data, c);
  return c;
}

void DecodeCase(const Alphabet& alphabet, std::span<const std::uint8_t> data, Case& out) {
  Header header = MakeHeader(Case{}, kDefaultThreads);
  const std::size_t header_size = std::min(data.size(), header.size());
  std::copy_n(data.begin(), header_size, header.begin());
  data = data.subspan(header_size);

  out.strategy = static_cast<Strategy>(header[kStrategy] % kStrategies);
  out.granularity = static_cast<Granularity>(header[kGranularity] % kGranularities);
  out.parameter = header[kParameter];
  ResetThreads(out.threads, static_cast<std::size_t>(1 + (header[kThreads] + kMaxThreads - 1) % kMaxThreads));

  const std::size_t promised = header[kOperations] % (kMaxOperations + 1);
  const std::size_t count = std::min(promised, data.size() / kOperationSize);
  for (std::size_t i = 0; i < count; ++i) ReadOperation(data.subspan(i * kOperationSize, kOperationSize), out);
  ReadSchedule(data.subspan(count * kOperationSize), out);
  Normalize(alphabet, out);
}

std::vector<std::uint8_t> EncodeCase(const Case& c) {
  const Header header = MakeHeader(c, c.threads.size());
  std::vector<std::uint8_t> out;
  out.reserve(EncodedSize(c));
  out.insert(out.end(), header.begin(), header.end());
  for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
    for (const Operation& operation : c.threads[thread]) {
      out.push_back(static_cast<std::uint8_t>(thread));
      out.push_back(operation.code);
      out.insert(out.end(), operation.arguments.begin(), operation.arguments.end());
    }
  }
  out.insert(out.end(), c.bytes.begin(), c.bytes.end());
  for (const Switch& s : c.switches) WriteSwitch(out, s);
  return out;
}

std::size_t EncodedSize(const Case& c) {
  return kHeaderSize + OperationCount(c) * kOperationSize + c.bytes.size() + c.switches.size() * kSwitchSize;
}

}  // namespace handoff
