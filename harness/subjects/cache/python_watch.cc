#include "harness/subjects/cache/python_watch.h"

#include "harness/oracle/verdict.h"
#include "harness/subjects/cache/block.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache::cpython::watch {
namespace {

using oracle::Fail;

constexpr const char* kNames[] = {"Function", "Value", "Buffer record"};

struct Object {
  Kind kind;
  bool gone;
  int function;  // of a value: the number of the one whose table was offered it, 0 if none was
};

// Entries 1 to the count are in use. Relaxed: each judgement looks at one number.
Object objects[kMaxObjects + 1];
int count = 0;
bool added[cache::watch::kMaxOwners][kKeys];

const char* NameOf(int number) { return kNames[static_cast<int>(objects[number].kind)]; }

}  // namespace

void Reset() {
  count = 0;
  for (auto& row : added) {
    for (bool& loop : row) loop = false;
  }
}

int Made(Kind kind) {
  const int number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (number > kMaxObjects) Fail("harness", "", "The watch holds %d objects. Raise its limit.", kMaxObjects);
  objects[number] = {kind, false, 0};
  return number;
}

void Offered(int value, int function) { __atomic_store_n(&objects[value].function, function, __ATOMIC_RELAXED); }

void Gone(int number) {
  if (__atomic_exchange_n(&objects[number].gone, true, __ATOMIC_RELAXED)) {
    Fail("double-delete", "invariant 11", "%s %d is freed a second time.", NameOf(number), number);
  }
  const int function = __atomic_load_n(&objects[number].function, __ATOMIC_RELAXED);
  if (function != 0 && !__atomic_load_n(&objects[function].gone, __ATOMIC_RELAXED)) {
    Fail("delete-while-held", "invariant 9",
         "Value %d is freed while the table of function %d exists, which was offered it. The function must keep it until then.",
         number, function);
  }
}

void Used(int number) {
  const bool known = number > 0 && number <= __atomic_load_n(&count, __ATOMIC_RELAXED);
  if (known && !__atomic_load_n(&objects[number].gone, __ATOMIC_RELAXED)) return;
  Fail("use-after-delete", "invariant 9",
       "A cache answers with object %d, which is freed. Whatever is in it must be owned by what owns the cache.", number);
}

void LoopAdded(int function, int key) {
  if (!__atomic_exchange_n(&added[function][key], true, __ATOMIC_RELAXED)) return;
  Fail("protocol", "one loop",
       "Function %d got a second loop for key %d, and two threads were told that theirs is the one. Look and add in one step.",
       function, key);
}

bool Outstanding() {
  for (int i = 1; i <= count; ++i) {
    if (!__atomic_load_n(&objects[i].gone, __ATOMIC_RELAXED)) return true;
  }
  return false;
}

void Judge() {
  for (int i = 1; i <= count; ++i) {
    if (objects[i].gone) continue;
    Fail("missing-delete", "references", "%s %d is left although every reference to it was dropped: one of them was lost.",
         NameOf(i), i);
  }
}

}  // namespace handoff::cache::cpython::watch
