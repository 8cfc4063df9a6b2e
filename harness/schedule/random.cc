// Random walk with a switch probability below 1/2: the default of 0.2 is the one llvm/llvm-project#183200 arrived at, since a
// switch at every point never fills a queue.
#include "harness/schedule/random.h"

namespace handoff::schedule {

namespace {

constexpr std::uint8_t kDefaultParameter = 51;
constexpr std::uint64_t kOneInTimed = 64;  // of the switches, how few end a timed wait while somebody can run

class RandomChoices final : public Strategy {
 public:
  void Begin(const Plan& plan) override { walk_.Begin(plan.seed, plan.parameter); }
  int Choose(const Decision& d) override { return Size(d.ready | d.timed) == 1 ? First(d.ready | d.timed) : walk_.Choose(d); }
  std::int64_t NextAccess(int, const Position&, std::uint64_t) override { return walk_.NextAccess(); }

 private:
  RandomWalk walk_;
};

constinit RandomChoices strategy;

}  // namespace

void RandomWalk::Begin(std::uint64_t seed, std::uint8_t parameter) {
  if (parameter == 0) parameter = kDefaultParameter;
  random_.state = seed;
  switches_of_256_ = parameter;
  // 2^16 / parameter, rounded up to a power of two: 2^16 for 1, 2,048 for the default, 512 for 255. With a quarter of that, a
  // third of the time of dlpack_capsule went into switches between threads, and of its four twins that need one, two took twice
  // as many executions to find; the others, and those of subjects whose operations are short, took as many.
  octaves_ = 16 - static_cast<std::uint64_t>(31 - __builtin_clz(parameter));
}

int RandomWalk::Choose(const Decision& d) {
  const ThreadSet others = Others(d);
  const bool may_stay = d.can_continue && (d.kind == PointKind::kOp || d.kind == PointKind::kSync);
  if (may_stay && Below(random_, 256) >= switches_of_256_) return d.current;
  if (d.timed != 0 && (d.ready == 0 || Below(random_, kOneInTimed) == 0)) return AnyOf(random_, d.timed);
  if (others != 0) return AnyOf(random_, others);
  if (d.timed != 0 && Yields(d)) return AnyOf(random_, d.timed);
  return d.current;
}

// Log-uniform: first the octave, then a distance within it, so that 3 and 300 accesses are tried alike.
std::int64_t RandomWalk::NextAccess() {
  // One number for both, since it is asked at every point: the octave from its upper half, the rest from its lower bits.
  const std::uint64_t random = Next(random_);
  const std::uint64_t octave = std::uint64_t{1} << ((random >> 32) * octaves_ >> 32);
  return static_cast<std::int64_t>(octave + (random & (octave - 1)));
}

Strategy& RandomStrategy() { return strategy; }

}  // namespace handoff::schedule
