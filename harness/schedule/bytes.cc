// The fuzzer's bytes decide, then a seeded generator: byte mode finds needle schedules that seeds never find, and reading a seed
// behind the bytes keeps short inputs useful (n-wach/unthread's report; googleprojectzero/SockFuzzer, Concurrence).
//
// Zero bytes give the default schedule, so a shrunk input is a calm one.
#include "harness/schedule/random.h"

namespace handoff::schedule {

namespace {

// A byte from here on ends a timed wait, if there is one: 1 choice in 16.
constexpr std::uint8_t kTimedFrom = 240;
// At an access, where a switch was asked for already, a byte from here on (below kTimedFrom) goes on nevertheless. Without it,
// distances could not be added up and some interleavings would be out of reach.
constexpr std::uint8_t kGoOnFrom = 224;

// Exact up to 32, then in steps of 1/16 of the octave, up to 507,904: more accesses than a thread makes before it is taken for
// spinning. Zero runs on to the next `sync` or `op` point.
std::int64_t Distance(std::uint8_t byte) {
  if (byte == 0) return kNever;
  if (byte < 16) return byte;
  return std::int64_t{16 + (byte & 15)} << ((byte >> 4) - 1);
}

class Bytes final : public Strategy {
 public:
  void Begin(const Plan& plan) override {
    next_ = plan.bytes;
    left_ = plan.byte_count;
    tail_.Begin(plan.seed, 0);
  }

  // Points without a choice use no byte up.
  int Choose(const Decision& d) override {
    if (Size(d.ready | d.timed) == 1) return First(d.ready | d.timed);
    return left_ == 0 ? tail_.Choose(d) : Decide(d, Take());
  }

  std::int64_t NextAccess(int, const Position&, std::uint64_t) override {
    return left_ == 0 ? tail_.NextAccess() : Distance(Take());
  }

 private:
  std::uint8_t Take() {
    --left_;
    return *next_++;
  }

  static int Decide(const Decision& d, std::uint8_t byte) {
    if (d.timed != 0 && (d.ready == 0 || byte >= kTimedFrom)) return Member(d.timed, byte % Size(d.timed));
    if (d.kind == PointKind::kAccess) {
      if (Others(d) == 0 || (byte >= kGoOnFrom && byte < kTimedFrom)) return d.current;
      return Member(Others(d), byte % Size(Others(d)));
    }
    const int first = DefaultChoice(d);
    const ThreadSet rest = d.ready & ~Only(first);
    const int n = byte % (Size(rest) + 1);
    return n == 0 ? first : Member(rest, n - 1);
  }

  const std::uint8_t* next_ = nullptr;  // borrowed from the plan; `left_` bytes can be read from here
  std::size_t left_ = 0;
  RandomWalk tail_;  // untouched until the bytes are used up
};

constinit Bytes strategy;

}  // namespace

Strategy& BytesStrategy() { return strategy; }

}  // namespace handoff::schedule
