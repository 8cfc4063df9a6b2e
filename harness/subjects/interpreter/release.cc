#include "harness/subjects/interpreter/release.h"

#include <condition_variable>
#include <utility>

#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/interpreter/defect.h"
#include "harness/subjects/interpreter/release_watch.h"

namespace handoff::interpreter {
namespace {

// What CPython 3.14 does to a thread that attaches too late.
[[noreturn]] void HangForEver() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (;;) never.wait(lock);
}

// The reference goes, at last. Attached to the payload's interpreter, in its generation.
void Drop(int thread, Payload* payload) {
  release_watch::Applied(payload->number, payload->host.runtime.Generation());
  Decref(thread, payload);
}

// With everything that it owns. `count` is the watch's: it says why.
void GiveUp(Payload* payload, void (*count)(int handle) = release_watch::Leaked) {
  if (payload->inner != nullptr) GiveUp(std::exchange(payload->inner, nullptr), count);
  count(payload->number);
  payload->host.leaked.Add(payload);
}

void DropOrGiveUp(int thread, Payload* payload) {
  if (payload->generation == payload->host.runtime.Generation() || Has(Defect::kGenerationIgnored)) {
    Drop(thread, payload);
  } else {
    GiveUp(payload);
  }
}

void DeallocPayload(int thread, Object* object) {
  auto* payload = static_cast<Payload*>(object);
  Payload* inner = payload->inner;
  delete payload;
  // A destructor may release anything, and must not care what its caller holds: by the queue.
  if (inner != nullptr) release::ByQueue(thread, inner);
}

// S1 to S3: PyGILState_Ensure with none, one or two tests whether the interpreter has ended. The second one, behind the
// attaching, is never reached when it matters.
void ByEnsure(int thread, Payload* payload, int tests) {
  Runtime& runtime = payload->host.runtime;
  if (tests > 0) {
    HANDOFF_SYNC_POINT(&payload->host, "is it finalizing?");
    if (runtime.MayHaveEnded()) return GiveUp(payload);
    HANDOFF_SYNC_POINT(&payload->host, "ensure");
  }
  const Attached attached(thread, runtime);
  if (!attached) HangForEver();
  if (tests > 1 && runtime.MayHaveEnded()) return GiveUp(payload);
  DropOrGiveUp(thread, payload);
}

// Holds the exit gate open; false if it is closed already.
class Gate {
 public:
  Gate(int thread, Host& host) : thread_(thread), host_(host) {
    lock_order::Waits(thread_, host_.exit_node);
    host_.exit_block.lock_shared();
    lock_order::Got(thread_, host_.exit_node);
  }
  ~Gate() {
    lock_order::Gave(thread_, host_.exit_node);
    host_.exit_block.unlock_shared();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  explicit operator bool() const { return !host_.exit_closed; }

 private:
  const int thread_;
  Host& host_;
};

void DropBehindGate(int thread, Payload* payload) {
  release_watch::AttachBegins(payload->host.number);
  const Attached attached(thread, payload->host.runtime);
  if (!attached) return GiveUp(payload);
  DropOrGiveUp(thread, payload);
}

// S4: the flag says the same as the gate, but nobody waits for those who have passed it.
void ByFlag(int thread, Payload* payload) {
  HANDOFF_SYNC_POINT(&payload->host, "load exit flag");
  if (payload->host.exit_flag.load(std::memory_order_acquire)) return GiveUp(payload);
  HANDOFF_SYNC_POINT(&payload->host, "attach");
  DropBehindGate(thread, payload);
}

void CloseGate(int thread, Host& host) {
  if (Has(Defect::kFlagWithoutBlock)) {
    release_watch::GateClosed(host.number);  // first: whoever sees the flag may give up
    host.exit_flag.store(true, std::memory_order_release);
    return;
  }
  lock_order::Waits(thread, host.exit_node);
  host.exit_block.lock();
  host.exit_closed = true;
  release_watch::GateClosed(host.number);
  host.exit_block.unlock();
}

void OpenGate(int thread, Host& host) {
  host.exit_flag.store(false, std::memory_order_release);
  lock_order::Waits(thread, host.exit_node);
  host.exit_block.lock();
  host.exit_closed = false;
  release_watch::GateOpened(host.number);
  host.exit_block.unlock();
}

std::vector<Payload*> TakeQueue(int thread, Host& host, bool close) {
  std::vector<Payload*> batch;
  const Locked locked(thread, host.queue_lock);
  batch.swap(host.queue);
  if (close && batch.empty() && !Has(Defect::kQueueNotClosed)) host.queue_closed = true;
  return batch;
}

// One after another, each outside the lock: dropping it may put another one in.
Payload* TakePending(int thread, Host& host, bool close) {
  const Locked locked(thread, host.pending_lock);
  if (host.pending_count > 0) return host.pending[--host.pending_count];
  if (close) host.pending_closed = true;
  return nullptr;
}

void DrainQueue(int thread, Host& host, bool close) {
  if (Has(Defect::kDrainUnderLock)) {
    const Locked locked(thread, host.queue_lock);
    while (!host.queue.empty()) {
      Payload* payload = host.queue.back();
      host.queue.pop_back();
      Drop(thread, payload);
    }
    host.queue_closed = host.queue_closed || close;
    return;
  }
  for (std::vector<Payload*> batch = TakeQueue(thread, host, close); !batch.empty(); batch = TakeQueue(thread, host, close)) {
    for (Payload* payload : batch) Drop(thread, payload);
  }
}

void DrainAll(int thread, Host& host, bool close) {
  while (Payload* payload = TakePending(thread, host, close)) Drop(thread, payload);
  DrainQueue(thread, host, close);  // last: what does not fit into the table comes here
}

}  // namespace

Payload::Payload(Host& owner, Payload* nested)
    : Object(owner.runtime, DeallocPayload, &owner),
      host(owner),
      generation(owner.runtime.Generation()),
      number(release_watch::HandleMade(owner.number, owner.runtime.Generation())),
      inner(nested) {}

Host::Host(Mode mode, int host_number)
    : number(host_number),
      runtime(mode, host_number),
      exit_node(lock_order::NewNode("exit block", host_number)),
      queue_lock("queue lock", host_number),
      pending_lock("pending lock", host_number) {}

namespace release {

void ByExitBlock(int thread, Payload* payload) {
  Host& host = payload->host;
  // Attached already: nothing can end before we detach, and waiting for the gate now could wait for ourselves.
  if (Current(thread) == &host.runtime && !Has(Defect::kGateUnderGil)) return DropOrGiveUp(thread, payload);
  if (Has(Defect::kFlagWithoutBlock)) return ByFlag(thread, payload);
  if (Has(Defect::kGateUnderGil)) {
    const Gate gate(thread, host);
    if (!gate) return GiveUp(payload);
    return DropBehindGate(thread, payload);
  }
  const Detached detached(thread);  // from another interpreter, whose end may wait for us
  const Gate gate(thread, host);
  if (!gate || Has(Defect::kLeaksWhileAlive)) return GiveUp(payload);
  DropBehindGate(thread, payload);
}

void ByQueue(int thread, Payload* payload) {
  Host& host = payload->host;
  {
    const Locked locked(thread, host.queue_lock);
    if (!host.queue_closed && payload->generation == host.queue_generation) {
      host.queue.push_back(payload);
      release_watch::Pending(payload->number);
      return;
    }
  }
  GiveUp(payload);
}

void ByPendingCall(int thread, Payload* payload) {
  Host& host = payload->host;
  {
    const Locked locked(thread, host.pending_lock);
    const bool fits = host.pending_count < Host::kPending;
    if (!host.pending_closed && payload->generation == host.pending_generation && (fits || Has(Defect::kPendingDropped))) {
      if (fits) {
        host.pending[host.pending_count++] = payload;
      } else {
        host.leaked.Add(payload);
      }
      release_watch::Pending(payload->number);
      return;
    }
  }
  ByQueue(thread, payload);  // refused: it must not be lost
}

void ByLeak(int /*thread*/, Payload* payload) { GiveUp(payload, release_watch::LeakedByDesign); }

void ByView(int thread, Payload* payload) {
  if (Has(Defect::kReleaseDetached)) return Drop(thread, payload);
  if (Has(Defect::kEnsureUnchecked)) return ByEnsure(thread, payload, 0);
  if (Has(Defect::kCheckThenEnsure)) return ByEnsure(thread, payload, 1);
  if (Has(Defect::kCheckTwice)) return ByEnsure(thread, payload, 2);
  const Attached attached(thread, payload->host.runtime);
  if (!attached) return GiveUp(payload);
  const int number = payload->number;
  DropOrGiveUp(thread, payload);
  if (Has(Defect::kReleasedTwice)) release_watch::Leaked(number);
}

void Drain(int thread, Host& host) { DrainAll(thread, host, false); }

void End(int thread, Host& host) {
  HANDOFF_SYNC_POINT(&host, "claim the end");
  // Relaxed: only one thread gets on, and what it does is ordered by the locks.
  if (host.ending.exchange(true, std::memory_order_relaxed)) return;
  const Attached attached(thread, host.runtime);
  if (!attached) return;
  {
    // Detached: those who hold the gate open wait to attach.
    const Detached detached(thread);
    CloseGate(thread, host);
  }
  DrainAll(thread, host, true);
  host.runtime.End(thread);
}

void BeginAgain(int thread, Host& host) {
  HANDOFF_SYNC_POINT(&host, "claim the beginning");
  // Acquire and release: whether it has ended is asked of what the last one that let it begin left behind.
  if (host.beginning.exchange(true, std::memory_order_acquire)) return;
  if (!host.runtime.MayHaveEnded()) {
    host.beginning.store(false, std::memory_order_release);
    return;
  }
  // Everything is open before the first reference of the new generation can be made; those of old ones are still refused.
  {
    const Locked locked(thread, host.queue_lock);
    host.queue_closed = false;
    ++host.queue_generation;
  }
  {
    const Locked locked(thread, host.pending_lock);
    host.pending_closed = false;
    ++host.pending_generation;
  }
  OpenGate(thread, host);
  if (!host.runtime.Begin(thread)) oracle::Fail("harness", "", "An interpreter that has ended did not begin again.");
  host.ending.store(false, std::memory_order_relaxed);
  host.beginning.store(false, std::memory_order_release);
}

}  // namespace release

}  // namespace handoff::interpreter
