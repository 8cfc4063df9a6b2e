#include "harness/subjects/cache/cache.h"

#include <array>
#include <string_view>
#include <utility>

#include "harness/oracle/linearizability.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/watch.h"
#include "harness/subjects/twins.h"

namespace handoff::cache {
namespace {

enum Code : std::uint8_t {
  kLookup,
  kInsert,
  kInsertDefault,
  kResolve,
  kReplace,
  kGrow,
  kDrop,
  kShortLived,
  kCallLoop,
  kParse,
  kImport,
  kPack,
  kFetch,
  kDropWrapper
};

constexpr std::array<std::string_view, kForms> kFormNames = {"locked", "shared", "lock_free"};
constexpr Argument kTable{"table", kForms, kFormNames};
constexpr Argument kKey{"key", kKeys};
constexpr Argument kNeeds{"needs", kKeys};  // what the resolver looks up in the same table; the key itself: nothing

constexpr std::array<std::string_view, 2> kOutcomeNames = {"module", "error"};
constexpr Argument kKeyword{"keyword", KeywordTable::kKeywords};
constexpr Argument kModule{"module", ImportCache::kModules};
constexpr Argument kNeedsModule{"needs", ImportCache::kModules};  // as above
constexpr Argument kOutcome{"outcome", kOutcomeNames.size(), kOutcomeNames};
constexpr Argument kFirst{"first", SmallCaches::kAllocators};
constexpr Argument kSecond{"second", SmallCaches::kAllocators};
constexpr Argument kThird{"third", SmallCaches::kAllocators};
constexpr Argument kNative{"native", WrapperMap::kNatives};

const std::array<OperationKind, 14> kOperations = {{
    {"lookup", {kTable, kKey}, 2, 4},
    {"insert", {kTable, kKey}, 2, 2},
    {"insert_default", {kTable, kKey}, 2, 3},
    {"resolve", {kTable, kKey, kNeeds}, 3, 4},
    {"replace", {kTable, kKey}, 2, 2},
    {"grow", {kTable}, 1, 1},
    {"drop", {kTable}, 1, 1},
    {"short_lived", {kTable, kKey}, 2, 1},
    {"call_loop", {}, 0, 2},
    {"parse", {kKeyword}, 1, 1},
    {"import", {kModule, kNeedsModule, kOutcome}, 3, 2},
    {"pack", {kFirst, kSecond, kThird}, 3, 2},
    {"fetch", {kNative}, 1, 2},
    {"drop_wrapper", {kNative}, 1, 2},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 26> kTwinTable = {{
    {{"table_without_lock", "numpy/numpy#26348: the table has no lock and relies on the interpreter's", "thread"},
     Defect::kTableWithoutLock},
    {{"second_reader_without_lock", "numpy/numpy#30251: a fast path reads the table without the lock", "thread"},
     Defect::kSecondReaderWithoutLock},
    {{"insert_fails_when_present",
      "numpy/numpy#26690 and numpy/numpy#27386: two threads miss, and the second to insert its value gets an error", "protocol"},
     Defect::kInsertFailsWhenPresent},
    {{"resolve_under_lock",
      "the table of numpy 2.2 to 2.4: a lock that is not recursive is held while a resolver may use the table", "deadlock"},
     Defect::kResolveUnderLock},
    {{"lock_after_table", "numpy/numpy#27953: the lock is looked up in a table that was just freed", "address"},
     Defect::kLockAfterTable},
    {{"slot_loaded_again", "numpy/numpy#30658: the probe ends at an empty slot, which is loaded a second time", "wrong-value"},
     Defect::kSlotLoadedAgain},
    {{"value_before_key", "smallest breach of invariant 7: the value that fills a bucket is stored before the key", "thread"},
     Defect::kValueBeforeKey},
    {{"relaxed_value", "smallest breach of invariant 7, after wjakob/nanobind#819: a value is published without release",
      "thread"},
     Defect::kRelaxedValue},
    {{"relaxed_table", "smallest breach of invariant 7, after wjakob/nanobind#819: a block is published without release",
      "thread"},
     Defect::kRelaxedTable},
    {{"grow_outside_lock", "smallest breach of invariant 3, after numpy/numpy#26348: a writer grows the table before it locks it",
      "thread"},
     Defect::kGrowOutsideLock},
    {{"grow_frees_old_table", "numpy/numpy#26348: growing frees the buckets that a reader is in", "address"},
     Defect::kGrowFreesOldTable},
    {{"grows_fourfold", "smallest breach of invariant 7: the sizes of retained blocks do not halve", "protocol"},
     Defect::kGrowsFourfold},
    {{"replace_counts_twice", "smallest breach of invariant 6: replacing a value counts its bucket as another full one",
      "protocol"},
     Defect::kReplaceCountsTwice},
    {{"replace_copies_table", "smallest breach of invariant 8, after numpy/numpy#30658: blocks are retained without a bound",
      "protocol"},
     Defect::kReplaceCopiesTable},
    {{"replace_in_old_table", "smallest breach of invariant 3: a writer chooses the block before it holds the lock",
      "linearizability"},
     Defect::kReplaceInOldTable},
    {{"drop_frees_owner_in_use", "smallest breach of invariant 11: dropping one of several references frees the owner",
      "address"},
     Defect::kDropFreesOwnerInUse},
    {{"last_drop_keeps_owner", "smallest breach of ownership: the last reference to an owner frees nothing", "missing-delete"},
     Defect::kLastDropKeepsOwner},
    {{"free_list_without_lock", "numpy/numpy#26348, and once more numpy/numpy#30228: a free list of loop data has no lock",
      "thread"},
     Defect::kFreeListWithoutLock},
    {{"flag_before_table", "numpy/numpy#26430: the flag that a keyword table is full is set before it is", "wrong-value"},
     Defect::kFlagBeforeTable},
    {{"relaxed_flag", "wjakob/nanobind#819: double-checked locking without acquire and release", "thread"}, Defect::kRelaxedFlag},
    {{"import_under_lock", "numpy commit 2e2fa1d6e3: a module is imported with the cache's lock held, and kept when that fails",
      "deadlock"},
     Defect::kImportUnderLock},
    {{"slot_stored_unchecked", "numpy/numpy#28881: a lazy static is stored again, and what was in it leaks", "missing-delete"},
     Defect::kSlotStoredUnchecked},
    {{"locks_in_argument_order", "smallest breach of the order of locks: they are taken as the arguments come", "deadlock"},
     Defect::kLocksInArgumentOrder},
    {{"lock_taken_twice", "smallest breach of one lock, one owner: an allocator that occurs twice is locked twice", "deadlock"},
     Defect::kLockTakenTwice},
    {{"retain_for_try_retain", "pybind/pybind11#5489: a wrapper is given out although its last reference is gone", "address"},
     Defect::kRetainForTryRetain},
    {{"newer_entry_removed", "smallest breach of wrapper identity: a dying wrapper removes the entry of a newer one",
      "wrong-value"},
     Defect::kNewerEntryRemoved},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

// The sequential map that the tables are compared with: a key's state is the number of its implementation, 0 if it has none.
int ApplyToMap(int* state, int operation, int argument) {
  const int before = *state;
  if (operation == kReplace || (operation != kLookup && before == 0)) *state = argument;
  if (operation == kInsert) return before == 0 ? 1 : 0;
  return operation == kReplace ? before : *state;
}

// Invariant 3: nothing that was inserted is lost. Invariant 1: everybody agrees on one value.
const char* InvariantOf(int operation, int result) { return operation != kInsert && result == 0 ? "invariant 3" : "invariant 1"; }

constexpr const char* kNames[] = {"lookup", "insert", "insert_default", "resolve", "replace"};
constexpr linearizability::Specification kMap = {0, &ApplyToMap, &InvariantOf, kNames};

// What a caller does with an answer: it reads the implementation, as whoever calls it would. Returns its number.
int Look(const Implementation* found, int key) {
  if (found == nullptr) return 0;
  if (found->key != key) {
    oracle::Fail(
        "wrong-value", "invariant 2",
        "Key %d was answered with implementation %d, which was made for key %d. Expected none, or one that was offered for "
        "this key.",
        key, found->number, found->key);
  }
  return found->number;
}

// A call on the owner's table, in the history.
template <typename Function>
const Implementation* Record(int thread, const Owner& owner, int key, Code code, int argument, Function function) {
  const int call = linearizability::Called(thread, owner.number, key, code, argument);
  const Implementation* answer = function();
  linearizability::Returned(call, Look(answer, key));
  return answer;
}

const Implementation* Get(int thread, Owner& owner, int key) {
  return Record(thread, owner, key, kLookup, 0, [&] { return owner.table->Get(KeyNumber(key)); });
}

const Implementation* InsertDefault(int thread, Owner& owner, int key, const Implementation* mine) {
  return Record(thread, owner, key, kInsertDefault, mine->number, [&] { return owner.table->SetDefault(KeyNumber(key), mine); });
}

// Whether it was absent.
bool Insert(int thread, Owner& owner, int key, const Implementation* mine) {
  const int call = linearizability::Called(thread, owner.number, key, kInsert, mine->number);
  const bool inserted = owner.table->SetDefault(KeyNumber(key), mine) == mine;
  linearizability::Returned(call, inserted ? 1 : 0);
  return inserted;
}

}  // namespace

const Alphabet& NativeCache::Operations() { return kAlphabet; }
std::span<const Twin> NativeCache::Twins() { return kTwins; }

std::unique_ptr<Subject> NativeCache::Make(int twin) {
  Install(DefectOf(kTwinTable, twin));
  return std::make_unique<NativeCache>();
}

void NativeCache::Begin(const Case& c) {
  linearizability::Reset();
  watch::Reset();
  locks_ = std::make_unique<Locks[]>(kForms + OperationCount(c));
  small_ = std::make_unique<SmallCaches>();
  newest_ = std::make_unique<Newest[]>(kForms);
  next_owner_ = 0;
  next_implementation_ = 1;
  for (int form = 0; form < kForms; ++form) {
    Owner* owner = newest_[static_cast<std::size_t>(form)].owner = NewOwnerOf(Form{static_cast<std::uint8_t>(form)});
    for (std::size_t thread = 0; thread < c.threads.size(); ++thread) {
      held_[thread][form] = Retain(owner);
      had_[thread][form] = owner->number;
    }
  }
}

// Each operation makes one at most, so the pool of locks is large enough.
Owner* NativeCache::NewOwnerOf(Form form) {
  // Relaxed: only the number counts.
  const int number = next_owner_.fetch_add(1, std::memory_order_relaxed);
  return NewOwner(number, form, locks_[static_cast<std::size_t>(number)]);
}

Owner& NativeCache::OwnerOf(int thread, Form form) {
  Owner*& held = held_[thread][static_cast<int>(form)];
  if (held == nullptr) held = Join(thread, form);
  return *held;
}

// A reference to an owner that this thread has not dropped yet.
Owner* NativeCache::Join(int thread, Form form) {
  Newest& newest = newest_[static_cast<std::size_t>(form)];
  int& had = had_[thread][static_cast<int>(form)];
  Owner* replaced = nullptr;
  Owner* joined = nullptr;
  {
    const std::lock_guard lock(newest.mutex);
    if (newest.owner->number <= had) replaced = std::exchange(newest.owner, NewOwnerOf(form));
    joined = Retain(newest.owner);
  }
  had = joined->number;
  if (replaced != nullptr) Release(replaced);  // outside the lock: this may free it
  return joined;
}

const Implementation* NativeCache::Make(Owner& owner, int key) {
  return NewImplementation(owner, key, next_implementation_.fetch_add(1, std::memory_order_relaxed));
}

// What a call of the owner does: the implementation for the key, found out when it is not in the table.
const Implementation* NativeCache::Resolve(int thread, Owner& owner, int key, int needs) {
  if (const Implementation* found = Get(thread, owner, key); found != nullptr) return found;
  return Miss(thread, owner, key, needs);
}

// Any number of threads at the same time, without a lock.
const Implementation* NativeCache::Miss(int thread, Owner& owner, int key, int needs) {
  std::unique_lock hold(owner.table->locks->resolving, std::defer_lock);
  if (Has(Defect::kResolveUnderLock)) hold.lock();
  if (needs != key) Resolve(thread, owner, needs, needs);  // the resolver is foreign code and may come back
  const Implementation* mine = Make(owner, key);
  if (Has(Defect::kInsertFailsWhenPresent) && !Insert(thread, owner, key, mine)) {
    oracle::Fail(
        "protocol", "invariant 5",
        "%c found no value for key %d, made one, and failed to insert it because another thread was faster. Expected it to "
        "go on with that thread's value.",
        'A' + thread, key);
  }
  return InsertDefault(thread, owner, key, mine);
}

void NativeCache::Replace(int thread, Owner& owner, int key) {
  const Implementation* mine = Make(owner, key);
  Record(thread, owner, key, kReplace, mine->number, [&] { return owner.table->Replace(KeyNumber(key), mine); });
}

// An owner that nobody else ever sees.
void NativeCache::UseShortLived(int thread, Form form, int key) {
  Owner* owner = NewOwnerOf(form);
  Resolve(thread, *owner, key, key);
  Resolve(thread, *owner, key, key);
  Release(owner);
}

void NativeCache::ApplyToTable(int thread, const Operation& operation) {
  Owner& owner = OwnerOf(thread, Form{operation.arguments[0]});
  const int key = operation.arguments[1];
  watch::UseBegins(owner.number);
  switch (operation.code) {
    case kLookup:
      Record(thread, owner, key, kLookup, 0, [&] { return owner.table->GetFast(KeyNumber(key)); });
      break;
    case kInsert:
      Insert(thread, owner, key, Make(owner, key));
      break;
    case kInsertDefault:
      InsertDefault(thread, owner, key, Make(owner, key));
      break;
    case kResolve:
      Resolve(thread, owner, key, operation.arguments[2]);
      break;
    case kReplace:
      Replace(thread, owner, key);
      break;
    default:
      owner.table->Grow();
      break;
  }
  watch::UseEnds(owner.number);
}

void NativeCache::ApplyToSmall(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kCallLoop:
      small_->CallLoop(thread);
      break;
    case kParse:
      small_->Parse(a[0]);
      break;
    case kImport:
      small_->Import(a[0], a[1], a[2] != 0);
      break;
    case kPack:
      small_->Pack(a[0], a[1], a[2]);
      break;
    case kFetch:
      small_->Fetch(thread, a[0]);
      break;
    default:
      small_->DropWrapper(thread, a[0]);
      break;
  }
}

void NativeCache::Apply(int thread, Operation operation) {
  if (operation.code > kShortLived) {
    ApplyToSmall(thread, operation);
  } else if (operation.code <= kGrow) {
    ApplyToTable(thread, operation);
  } else if (operation.code == kShortLived) {
    UseShortLived(thread, Form{operation.arguments[0]}, operation.arguments[1]);
  } else if (Owner* owner = std::exchange(held_[thread][operation.arguments[0]], nullptr); owner != nullptr) {
    Release(owner);
  }
}

void NativeCache::End() {
  linearizability::Judge(kMap);
  small_->End();
  for (auto& row : held_) {
    for (Owner*& held : row) {
      if (held != nullptr) Release(std::exchange(held, nullptr));
    }
  }
  for (int form = 0; form < kForms; ++form) Release(newest_[static_cast<std::size_t>(form)].owner);
  for (int i = 0; i < next_owner_; ++i) {
    if (!locks_[static_cast<std::size_t>(i)].taken) continue;
    oracle::Fail("missing-delete", "invariant 11", "Owner %d was never freed. Expected the last reference to free it.", i);
  }
  newest_ = nullptr;
  small_ = nullptr;
  locks_ = nullptr;
}

}  // namespace handoff::cache
