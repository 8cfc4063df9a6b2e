// Executions per second: under control, and on threads that are made anew for each execution of the same cases.
//
// Names are TARGET/CARRIER/GRANULARITY, and TARGET/baseline/op for the threads made anew. Random programs of three threads with
// four operations each; executions are warm, without libFuzzer, mutation and coverage feedback.
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/executor.h"
#include "harness/run/sanitizer_defaults.h"
#include "harness/subjects/dlpack/exchange.h"
#include "harness/subjects/subject.h"
#if HANDOFF_HAVE_PYTHON
#include "harness/subjects/dlpack/capsule.h"
#endif

namespace handoff {
namespace {

constexpr std::size_t kCases = 256;
constexpr std::size_t kThreads = 3;
constexpr std::size_t kOperationsPerThread = 4;

// As often as the mutator would: some operations are rare because they take as long as a hundred others.
std::uint8_t DrawCode(const Alphabet& alphabet, std::mt19937& random) {
  int total = 0;
  for (const OperationKind& kind : alphabet.operations) total += kind.weight;
  int left = static_cast<int>(random() % static_cast<unsigned>(total));
  std::uint8_t code = 0;
  while (left >= alphabet.operations[code].weight) left -= alphabet.operations[code++].weight;
  return code;
}

std::vector<Case> RandomCases(const Alphabet& alphabet, Granularity granularity) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same cases for every benchmark
  std::vector<Case> cases(kCases);
  for (Case& c : cases) {
    c.strategy = Strategy::kRandom;
    c.granularity = granularity;
    c.threads.assign(kThreads, std::vector<Operation>(kOperationsPerThread));
    for (std::vector<Operation>& operations : c.threads) {
      for (Operation& operation : operations) {
        operation.code = DrawCode(alphabet, random);
        for (std::uint8_t& argument : operation.arguments) argument = static_cast<std::uint8_t>(random());
      }
    }
    for (int i = 0; i < 8; ++i) c.bytes.push_back(static_cast<std::uint8_t>(random()));
    Normalize(alphabet, c);
  }
  return cases;
}

// A subject with its executor, for the rest of the process.
struct Bench {
  std::unique_ptr<Subject> subject;
  Executor executor;
  Alphabet alphabet;
};

void RunControlled(benchmark::State& state, Bench& bench, Granularity granularity) {
  const std::vector<Case> cases = RandomCases(bench.alphabet, granularity);
  // Warm: threads and their interpreter states are made in the first one, which may take longer than all that is measured.
  bench.executor.Execute(cases[0]);
  std::size_t next = 0;
  for ([[maybe_unused]] const auto turn : state) bench.executor.Execute(cases[next++ % kCases]);
  state.SetItemsProcessed(state.iterations());
}

void RunOnNewThreads(benchmark::State& state, Bench& bench) {
  std::vector<Case> cases = RandomCases(bench.alphabet, Granularity::kOp);
  for (Case& c : cases) c.strategy = Strategy::kFree;
  std::size_t next = 0;
  for ([[maybe_unused]] const auto turn : state) {
    const Case& c = cases[next++ % kCases];
    bench.subject->Begin(c);
    std::vector<std::thread> threads;
    threads.reserve(c.threads.size());
    for (std::size_t t = 0; t < c.threads.size(); ++t) {
      threads.emplace_back([&bench, &c, t] {
        for (const Operation& operation : c.threads[t]) bench.subject->Apply(static_cast<int>(t), operation);
      });
    }
    for (std::thread& thread : threads) thread.join();
    bench.subject->End();
  }
  state.SetItemsProcessed(state.iterations());
}

// Twelve operations that do nothing: what the harness itself takes.
class Nothing final : public Subject {
 public:
  void Begin(const Case&) override {}
  void Apply(int, Operation) override {}
  void End() override {}
};

void Register(const std::string& target, const std::string& carrier, Bench& bench) {
  for (const Granularity granularity : {Granularity::kOp, Granularity::kSync, Granularity::kAccess}) {
    if (granularity > schedule::FinestGranularity()) continue;
    std::string name = target;
    name.append("/").append(carrier).append("/").append(kGranularityNames[static_cast<std::size_t>(granularity)]);
    benchmark::RegisterBenchmark(name.c_str(), RunControlled, std::ref(bench), granularity)->UseRealTime();
  }
}

Bench& MakeBench(std::unique_ptr<Subject> subject, const Alphabet& alphabet, schedule::Carrier carrier, const char* program) {
  subject->Initialize(program);
  Subject& borrowed = *subject;
  return *new Bench{std::move(subject), {borrowed, carrier}, alphabet};
}

}  // namespace
}  // namespace handoff

int main(int argc, char** argv) {
  using namespace handoff;
  KeepSanitizerDefaults();
  static constexpr OperationKind kNothing[] = {{.name = "nothing"}};
  Register("nothing", "fiber", MakeBench(std::make_unique<Nothing>(), {kNothing}, schedule::Carrier::kFiber, argv[0]));
  Bench& exchange = MakeBench(dlpack::Exchange::Make(-1), dlpack::Exchange::Operations(), schedule::Carrier::kFiber, argv[0]);
  Register("dlpack_exchange", "fiber", exchange);
  // Before all that runs on threads: those are kept on one processor, the driver too, and new threads would inherit that.
  benchmark::RegisterBenchmark("dlpack_exchange/baseline/op", RunOnNewThreads, std::ref(exchange))->UseRealTime();
#if HANDOFF_HAVE_PYTHON
  // Without a baseline: each new thread would need a new thread state, and that is most of what it would measure.
  Register("dlpack_capsule", "thread",
           MakeBench(dlpack::Capsule::Make(-1), dlpack::Capsule::Operations(), schedule::Carrier::kThread, argv[0]));
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
