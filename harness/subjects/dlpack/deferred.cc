#include "harness/subjects/dlpack/deferred.h"

#include <atomic>

#include "harness/schedule/point.h"
#include "harness/subjects/dlpack/defect.h"

namespace handoff::dlpack {
namespace {

struct Node {
  PyObject* owner;  // owns a reference
  Node* next;       // owns
};

// A stack that many push to and that is always emptied as a whole, so that no node is looked at by two threads at a time: no ABA,
// no reclamation.
std::atomic<Node*> queue{nullptr};

// Acquire: the nodes were filled in before they were pushed.
Node* TakeAll() {
  HANDOFF_SYNC_POINT(&queue, "empty queue");
  if (!Has(Defect::kQueueLoadsThenClears)) return queue.exchange(nullptr, std::memory_order_acquire);
  Node* all = queue.load(std::memory_order_acquire);
  HANDOFF_SYNC_POINT(&queue, "clear queue");
  queue.store(nullptr, std::memory_order_relaxed);
  return all;
}

}  // namespace

void DropLater(PyObject* owner) {
  auto* node = new Node{owner, queue.load(std::memory_order_relaxed)};
  // Release: whoever empties the queue sees the node, and our uses of the owner. On failure `next` is simply read again.
  const auto order = Has(Defect::kRelaxedQueue) ? std::memory_order_relaxed : std::memory_order_release;
  do {
    HANDOFF_SYNC_POINT(&queue, "push to queue");
  } while (!queue.compare_exchange_weak(node->next, node, order, std::memory_order_relaxed));
}

void DropQueued() {
  // Relaxed: a hint. What is missed now is found the next time.
  if (queue.load(std::memory_order_relaxed) == nullptr) return;
  for (Node* node = TakeAll(); node != nullptr;) {
    python::Release(node->owner);
    Node* done = node;
    node = node->next;
    delete done;
  }
}

}  // namespace handoff::dlpack
