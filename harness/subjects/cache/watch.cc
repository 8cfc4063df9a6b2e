#include "harness/subjects/cache/watch.h"

#include "harness/oracle/verdict.h"

namespace handoff::cache::watch {
namespace {

using oracle::Fail;

// Sequentially consistent: under the strategy `free` a use and a free cannot both miss each other.
int users[kMaxOwners];
bool freed[kMaxOwners];

}  // namespace

void Reset() {
  for (int i = 0; i < kMaxOwners; ++i) {
    users[i] = 0;
    freed[i] = false;
  }
}

void UseBegins(int owner) {
  __atomic_fetch_add(&users[owner], 1, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&freed[owner], __ATOMIC_SEQ_CST)) return;
  Fail("use-after-delete", "invariant 11",
       "A use of owner %d begins when it is freed. Keep a reference for as long as it is used.", owner);
}

void UseEnds(int owner) { __atomic_fetch_sub(&users[owner], 1, __ATOMIC_SEQ_CST); }

void Freed(int owner) {
  if (__atomic_exchange_n(&freed[owner], true, __ATOMIC_SEQ_CST)) {
    Fail("double-delete", "invariant 11", "Owner %d is freed for the second time. Only the last reference may free it.", owner);
  }
  if (const int in_use = __atomic_load_n(&users[owner], __ATOMIC_SEQ_CST); in_use != 0) {
    Fail("delete-while-held", "invariant 11",
         "Owner %d is freed while %d threads use its table. The last use must come before the free.", owner, in_use);
  }
}

}  // namespace handoff::cache::watch
