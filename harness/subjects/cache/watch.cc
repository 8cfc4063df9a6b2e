#include "harness/subjects/cache/watch.h"

#include "harness/oracle/verdict.h"

namespace handoff::cache::watch {
namespace {

using oracle::Fail;

// Sequentially consistent: under the strategy `free` a use and a free cannot both miss each other.
int users[kMaxOwners];
bool freed[kMaxOwners];
bool table_gone[kMaxOwners];
bool found_once[kMaxOwners][kMaxKeys];

}  // namespace

void Reset() {
  for (int i = 0; i < kMaxOwners; ++i) {
    users[i] = 0;
    freed[i] = false;
    table_gone[i] = false;
    for (bool& found : found_once[i]) found = false;
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

void TableGone(int owner) { __atomic_store_n(&table_gone[owner], true, __ATOMIC_SEQ_CST); }

void ImplementationGone(int owner, int implementation) {
  if (__atomic_load_n(&table_gone[owner], __ATOMIC_SEQ_CST)) return;
  Fail("delete-while-held", "invariant 9",
       "Implementation %d is freed while the table of owner %d exists. The owner keeps all that its table ever led to until the "
       "table is gone.",
       implementation, owner);
}

bool LookupBegins(int owner, int key) { return __atomic_load_n(&found_once[owner][key], __ATOMIC_SEQ_CST); }

void LookupEnds(int owner, int key, bool found_before, bool found) {
  if (found) __atomic_store_n(&found_once[owner][key], true, __ATOMIC_SEQ_CST);
  if (found || !found_before) return;
  Fail(
      "wrong-value", "invariant 4",
      "A lookup of key %d in the table of owner %d found nothing, and one that had ended before it began found a value. Expected "
      "what is in a table to stay there.",
      key, owner);
}

}  // namespace handoff::cache::watch
