#include "harness/subjects/interpreter/reference_release.h"

#include <array>
#include <string_view>
#include <utility>

#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/release_watch.h"
#include "harness/subjects/twins.h"

namespace handoff::interpreter {
namespace {

enum Code : std::uint8_t { kMake, kRelease, kGive, kTake, kEnter, kJoin, kOnce, kEnd, kBeginAgain, kStatic };
enum Way : std::uint8_t { kExitBlock, kQueue, kPendingCall, kLeak, kView, kWays };
enum ThreadIs : std::uint8_t { kDetachedThread, kAttachedThread, kAttachedElsewhere, kLockedThread, kThreadStates };

constexpr std::array<std::string_view, kWays> kWayNames = {"exit_block", "queue", "pending_call", "leak", "view"};
constexpr std::array<std::string_view, kThreadStates> kStateNames = {"detached", "attached", "attached_elsewhere", "locked"};
constexpr std::array<std::string_view, 2> kHostNames = {"gil", "free_threaded"};
constexpr std::array<std::string_view, 2> kNestedNames = {"alone", "nested"};
constexpr Argument kInterpreter{"interpreter", kHostNames.size(), kHostNames};
constexpr Argument kOwns{"owns", kNestedNames.size(), kNestedNames};
constexpr Argument kWay{"way", kWays, kWayNames};
constexpr Argument kThread{"thread", kThreadStates, kStateNames};
constexpr Argument kOther{"other", kMaxThreads};

const std::array<OperationKind, 10> kOperations = {{
    {"make", {kInterpreter, kOwns}, 2, 5},
    {"release", {kWay, kThread}, 2, 6},
    {"give", {}, 0, 2},
    {"take", {}, 0, 2},
    {"enter", {kInterpreter}, 1, 2},
    {"join", {kOther, kInterpreter}, 2, 1},
    {"once", {kInterpreter}, 1, 1},
    {"end", {kInterpreter}, 1, 1},
    {"begin_again", {kInterpreter}, 1, 1},
    {"static", {kInterpreter}, 1, 1},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 17> kTwinTable = {{
    {{"ensure_unchecked", "S1, python/cpython#87135: a thread attaches after the interpreter's end and hangs for ever",
      "deadlock"},
     Defect::kEnsureUnchecked},
    {{"check_then_ensure", "S2, pytorch/pytorch#190489: the interpreter ends between the test and the attaching", "deadlock"},
     Defect::kCheckThenEnsure},
    {{"check_twice", "S3, pytorch/pytorch#189128: a second test behind the attaching comes too late", "deadlock"},
     Defect::kCheckTwice},
    {{"flag_without_block",
      "S4, after finos/opengris-scaler#945: a flag of one's own, and nobody waits for those who have passed it", "protocol"},
     Defect::kFlagWithoutBlock},
    {{"gate_under_gil", "grpc/grpc#37762: the gate is held while attaching, and waited for while attached", "lock-order"},
     Defect::kGateUnderGil},
    {{"generation_ignored", "smallest breach of S10: a reference is dropped in an interpreter that began after its own had ended",
      "protocol"},
     Defect::kGenerationIgnored},
    {{"queue_not_closed", "smallest breach of S6: references are queued after the last drain", "missing-delete"},
     Defect::kQueueNotClosed},
    {{"drain_under_lock", "smallest breach of S6's rule: the queue's lock is held while references are dropped", "lock-order"},
     Defect::kDrainUnderLock},
    {{"drain_by_anybody", "smallest breach of S6, after pybind/pybind11#5965: whoever enters any interpreter drains every queue",
      "no-thread-state"},
     Defect::kDrainByAnybody},
    {{"pending_dropped", "NVIDIA/cuda-python#2371: a refused pending call is forgotten", "missing-delete"},
     Defect::kPendingDropped},
    {{"release_under_lock", "S11 left out, facebookresearch/moolib#6: a reference is dropped under a native lock", "lock-order"},
     Defect::kReleaseUnderLock},
    {{"join_attached", "S12 left out, pybind/pybind11#1446: a destructor joins a thread that wants to attach", "lock-order"},
     Defect::kJoinAttached},
    {{"once_attached", "apache/arrow#8615: a once flag is waited for while attached, and its body detaches", "lock-order"},
     Defect::kOnceAttached},
    {{"released_twice", "smallest breach of the release's one end: a dropped reference is counted as a leak too",
      "double-delete"},
     Defect::kReleasedTwice},
    {{"release_detached", "apache/tvm-ffi#529: no GIL, so no thread state, so a drop without one", "no-thread-state"},
     Defect::kReleaseDetached},
    {{"leaks_while_alive",
      "smallest breach of S5: a gate that is open is taken for a closed one, and every release is counted as a leak",
      "missing-delete"},
     Defect::kLeaksWhileAlive},
    {{"static_attached",
      "pybind/pybind11#4877 and jax-ml/jax#28385: a static variable is entered while attached, and its initialiser attaches "
      "again",
      "lock-order"},
     Defect::kStaticAttached},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// Whether the way may be gone with a native lock in the hand: it never attaches.
bool NeverAttaches(int way) { return way == kQueue || way == kPendingCall || way == kLeak; }

}  // namespace

const Alphabet& ReferenceRelease::Operations() { return kAlphabet; }
std::span<const Twin> ReferenceRelease::Twins() { return kTwins; }

std::unique_ptr<Subject> ReferenceRelease::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<ReferenceRelease>();
}

void ReferenceRelease::Begin(const Case& c) {
  threads_ = static_cast<int>(c.threads.size());
  release_watch::Reset();
  lock_order::Reset();
  ForgetThreads();
  for (int i = 0; i < kHosts; ++i) {
    hosts_[i].emplace(i == 0 ? Mode::kGil : Mode::kFreeThreaded, i);
    once_[i].emplace();
    once_nodes_[i] = lock_order::NewNode("once flag", i);
    static_local_[i].emplace(i);
    static_value_[i] = false;
  }
  native_lock_.emplace("native lock", 0);
  for (int t = 0; t < threads_; ++t) work_[t].emplace(t);
}

void ReferenceRelease::MakePayload(int thread, Host& host, bool nested) {
  if (held_[thread] != nullptr) return;
  const Attached attached(thread, host.runtime);
  if (!attached) return;
  held_[thread] = new Payload(host, nested ? new Payload(host, nullptr) : nullptr);
}

void ReferenceRelease::Release(int thread, Payload* payload, int way) {
  switch (way) {
    case kExitBlock:
      release::ByExitBlock(thread, payload);
      break;
    case kQueue:
      release::ByQueue(thread, payload);
      break;
    case kPendingCall:
      release::ByPendingCall(thread, payload);
      break;
    case kLeak:
      release::ByLeak(thread, payload);
      break;
    default:
      release::ByView(thread, payload);
      break;
  }
}

// What the thread is doing when it comes to release.
void ReferenceRelease::ReleaseIn(int thread, Payload* payload, int way, int state) {
  if (state == kDetachedThread) return Release(thread, payload, way);
  if (state == kLockedThread) {
    Payload* graveyard = payload;  // S11: what must not be dropped under the lock lies here until it is given up
    {
      const Locked locked(thread, *native_lock_);
      if (NeverAttaches(way) || Has(Defect::kReleaseUnderLock)) Release(thread, std::exchange(graveyard, nullptr), way);
    }
    if (graveyard != nullptr) Release(thread, graveyard, way);
    return;
  }
  const int number = state == kAttachedThread ? payload->host.number : 1 - payload->host.number;
  const Attached attached(thread, hosts_[number]->runtime);
  Release(thread, payload, way);
}

// What every entry into an interpreter does: drain. And a short use of the native library, whose lock comes after the
// interpreter.
void ReferenceRelease::Enter(int thread, Host& host) {
  const Attached attached(thread, host.runtime);
  if (!attached) return;
  release::Drain(thread, host);
  if (Has(Defect::kDrainByAnybody)) release::Drain(thread, *hosts_[1 - host.number]);
  const Locked locked(thread, *native_lock_);
}

// S12: a native destructor that waits for another thread's work, which may be a release that wants to attach.
void ReferenceRelease::Join(int thread, int other) {
  if (other != thread && other < threads_) work_[other]->Join(thread);
}

// An import that a once flag guards, and that detaches while it waits for a file.
void ReferenceRelease::Once(int thread, Host& host) {
  const auto body = [&] {
    lock_order::Got(thread, once_nodes_[host.number]);
    {
      const Attached attached(thread, host.runtime);
      const Detached detached(thread);
    }
    lock_order::Gave(thread, once_nodes_[host.number]);
  };
  lock_order::Waits(thread, once_nodes_[host.number]);
  std::call_once(*once_[host.number], body);
}

// A function with a static variable that is made in the interpreter, which may detach meanwhile. If the interpreter has ended, a
// later call tries again.
void ReferenceRelease::UseStatic(int thread, Host& host) {
  bool& value = static_value_[host.number];
  const bool ready = static_local_[host.number]->Enter(thread, [&] {
    const Attached attached(thread, host.runtime);
    if (!attached) return false;
    const Detached detached(thread);
    value = true;
    return true;
  });
  if (ready && !value) oracle::Fail("harness", "", "A static variable is used before it is ready.");
}

void ReferenceRelease::Apply(int thread, Operation operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kMake:
      MakePayload(thread, *hosts_[a[0]], a[1] != 0);
      break;
    case kRelease:
      work_[thread]->Begin();
      if (Payload* payload = std::exchange(held_[thread], nullptr); payload != nullptr) ReleaseIn(thread, payload, a[0], a[1]);
      work_[thread]->End();
      break;
    case kGive:
    case kTake: {
      if ((held_[thread] != nullptr) != (operation.code == kGive)) break;
      HANDOFF_SYNC_POINT(&box_, "swap box");
      // Acquire and release: whoever takes the reference uses what whoever gave it wrote.
      held_[thread] = box_.exchange(held_[thread], std::memory_order_acq_rel);
      break;
    }
    case kEnter:
      Enter(thread, *hosts_[a[0]]);
      break;
    case kJoin: {
      const Attached attached(thread, hosts_[a[1]]->runtime);
      if (!attached) break;
      if (Has(Defect::kJoinAttached)) {
        Join(thread, a[0]);
      } else {
        const Detached detached(thread);
        Join(thread, a[0]);
      }
      break;
    }
    case kOnce: {
      const Attached attached(thread, hosts_[a[0]]->runtime);
      if (!attached) break;
      if (Has(Defect::kOnceAttached)) {
        Once(thread, *hosts_[a[0]]);
      } else {
        const Detached detached(thread);
        Once(thread, *hosts_[a[0]]);
      }
      break;
    }
    case kEnd:
      release::End(thread, *hosts_[a[0]]);
      break;
    case kBeginAgain:
      release::BeginAgain(thread, *hosts_[a[0]]);
      break;
    default: {
      const Attached attached(thread, hosts_[a[0]]->runtime);
      if (!attached) break;
      if (Has(Defect::kStaticAttached)) {
        UseStatic(thread, *hosts_[a[0]]);
      } else {
        const Detached detached(thread);
        UseStatic(thread, *hosts_[a[0]]);
      }
      break;
    }
  }
}

void ReferenceRelease::End() {
  for (int t = 0; t < threads_; ++t) {
    if (Payload* payload = std::exchange(held_[t], nullptr); payload != nullptr) release::ByQueue(0, payload);
  }
  if (Payload* payload = box_.exchange(nullptr, std::memory_order_acq_rel); payload != nullptr) release::ByQueue(0, payload);
  for (auto& host : hosts_) {
    const Attached attached(0, host->runtime);
    if (attached) release::Drain(0, *host);
  }
  release_watch::Judge();
  for (auto& host : hosts_) host.reset();
  native_lock_.reset();
  for (int t = 0; t < threads_; ++t) work_[t].reset();
}

}  // namespace handoff::interpreter
