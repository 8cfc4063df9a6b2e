#include "harness/schedule/profiler.h"

namespace handoff::schedule {

namespace {

constexpr std::uint16_t kNone = UINT16_MAX;  // an `op` point: its step ends at the next `sync` point and touches nothing
constexpr std::uint16_t kUnknown = 0;

}  // namespace

void Profiler::Begin() {
  for (ThreadSet& threads : touched_by_) threads = 0;
  for (int t = 0; t < kMaxControlled; ++t) {
    points_[t] = 0;
    overflow_[t] = 0;
  }
}

void Profiler::Note(int thread, PointKind kind, std::uint32_t object) {
  if (kind != PointKind::kOp && kind != PointKind::kSync) return;
  if (object >= kProfiledObjects) object = kUnknown;
  if (kind == PointKind::kSync) touched_by_[object] |= Only(thread);
  const std::uint32_t point = points_[thread]++;
  if (point >= kProfiledSteps) {
    if (kind == PointKind::kSync) ++overflow_[thread];
    return;
  }
  objects_[thread][point] = kind == PointKind::kOp ? kNone : static_cast<std::uint16_t>(object);
}

bool Profiler::IsShared(std::uint32_t object) const {
  if (object == kNone) return false;
  return object == kUnknown || (touched_by_[object] & (touched_by_[object] - 1)) != 0;
}

void Profiler::Fill(Profile& profile) const {
  for (int t = 0; t < kMaxControlled; ++t) {
    profile.shared_of[t] = overflow_[t];
    for (std::uint64_t& word : profile.shared[t]) word = 0;
    for (std::uint32_t point = 0; point < points_[t] && point < kProfiledSteps; ++point) {
      if (!IsShared(objects_[t][point])) continue;
      ++profile.shared_of[t];
      profile.shared[t][point / 64] |= std::uint64_t{1} << (point % 64);
    }
  }
}

}  // namespace handoff::schedule
