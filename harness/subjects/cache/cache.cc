#include "harness/subjects/cache/cache.h"

#include <optional>
#include <utility>

#include "harness/oracle/linearizability.h"
#include "harness/oracle/lock_order.h"
#include "harness/oracle/verdict.h"
#include "harness/schedule/point.h"
#include "harness/subjects/cache/defect.h"
#include "harness/subjects/cache/detached_lock.h"
#include "harness/subjects/cache/key_objects.h"
#include "harness/subjects/cache/progress.h"
#include "harness/subjects/cache/twins.h"
#include "harness/subjects/cache/watch.h"

namespace handoff::cache {
namespace {

static_assert(kKeys <= watch::kMaxKeys);

// The sequential map that the tables are compared with: a key's state is the number of its implementation, 0 if it has none.
int ApplyToMap(int* state, int operation, int argument) {
  const int before = *state;
  if (operation == kReplace || (operation != kLookup && before == 0)) *state = argument;
  if (operation == kInsert) return before == 0 ? 1 : 0;
  return operation == kReplace ? before : *state;
}

// Invariant 3: nothing that was inserted is lost. Invariant 1: everybody agrees on one value.
const char* InvariantOf(int operation, int result) { return operation != kInsert && result == 0 ? "invariant 3" : "invariant 1"; }

// Each form has an owner from the start.
const char* PlaceOf(int owner) { return owner < kForms ? "" : " of a table made during the run,"; }

constexpr linearizability::Words kCalls[] = {
    {"lookup"}, {"insert", "not inserted", "inserted"}, {"insert_default"}, {"resolve"}, {"replace"}};
constexpr linearizability::Specification kMap = {0, &ApplyToMap, &InvariantOf, kCalls, &PlaceOf};

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
  if (const int object = key_objects::Current(key); found->key_object != object) {
    oracle::Fail("wrong-value", "invariant 9",
                 "Object %d at the address of key %d was answered with an implementation that was made for object %d, which has "
                 "ended. Expected a table's owner to keep the objects of its keys alive.",
                 object, key, found->key_object);
  }
  return found->number;
}

// Arguments of a call: the caller refers to them for as long as it lasts.
class KeyInUse {
 public:
  explicit KeyInUse(int key) : key_(key) { key_objects::Retain(key_); }
  ~KeyInUse() { key_objects::Release(key_); }
  KeyInUse(const KeyInUse&) = delete;
  KeyInUse& operator=(const KeyInUse&) = delete;

 private:
  const int key_;
};

// A call on the owner's table, in the history.
template <typename Function>
const Implementation* Record(int thread, const Owner& owner, int key, Code code, int argument, Function function) {
  const int call = linearizability::Called(thread, owner.number, key, code, argument);
  const Implementation* answer = function();
  linearizability::Returned(call, Look(answer, key));
  return answer;
}

const Implementation* Get(int thread, Owner& owner, int key, bool fast = false) {
  const bool found_before = watch::LookupBegins(owner.number, key);
  const Implementation* found = Record(thread, owner, key, kLookup, 0, [&] {
    return fast ? owner.table->GetFast(thread, KeyNumber(key)) : owner.table->Get(thread, KeyNumber(key));
  });
  watch::LookupEnds(owner.number, key, found_before, found != nullptr);
  return found;
}

// What the key has from now on. There is always something: that another thread was faster is no error, but for a twin whose
// insertion `fails_when_present`.
const Implementation* InsertDefault(int thread, Owner& owner, int key, const Implementation* mine,
                                    bool fails_when_present = false) {
  const Implementation* value = Record(thread, owner, key, kInsertDefault, mine->number, [&] {
    const Implementation* found = owner.table->SetDefault(thread, KeyNumber(key), mine);
    return fails_when_present && found != mine ? nullptr : found;
  });
  if (value != nullptr) return value;
  oracle::Fail("protocol", "invariant 5",
               "%c offered a value for key %d and got none back: its insertion failed. Expected it to succeed, and where another "
               "thread was faster to answer with that thread's value.",
               'A' + thread, key);
}

// Whether it was absent.
bool Insert(int thread, Owner& owner, int key, const Implementation* mine) {
  const int call = linearizability::Called(thread, owner.number, key, kInsert, mine->number);
  const bool inserted = owner.table->SetDefault(thread, KeyNumber(key), mine) == mine;
  linearizability::Returned(call, inserted ? 1 : 0);
  return inserted;
}

}  // namespace

const Alphabet& NativeCache::Operations() { return CacheOperations(); }
std::span<const Twin> NativeCache::Twins() { return CacheTwins(); }

std::unique_ptr<Subject> NativeCache::Make(int twin) {
  Install(CacheDefect(twin));
  return std::make_unique<NativeCache>();
}

void NativeCache::Begin(const Case& c) {
  program_.Remember(c);
  linearizability::Reset();
  lock_order::Reset();
  watch::Reset();
  key_objects::Reset();
  progress::Reset();
  interpreter::ForgetThreads();
  Sections::Forget();
  runtime_.emplace(interpreter::Mode::kFreeThreaded, 0, &sections_);
  arrays_ = std::make_unique<BufferArrays>(static_cast<int>(c.threads.size()));
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
    const std::scoped_lock lock(newest.mutex);
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

// Foreign code, which attaches if its caller is not.
void NativeCache::CallBack(int thread, Resolver resolver) {
  progress::RunsCallback(thread);
  const interpreter::Attached attached(thread, *runtime_);
  if (resolver == Resolver::kExports) arrays_->Export(thread, 0, 0);
  if (resolver != Resolver::kWaits) return;
  const interpreter::Detached detached(thread);
  HANDOFF_SYNC_POINT(&*runtime_, "callback waits");
}

// The value that the resolver found out. An allocation may collect.
const Implementation* NativeCache::Allocate(int thread, Owner& owner, int key, Resolver resolver) {
  std::optional<WriteDetached> lock;
  if (Has(Defect::kTableLockWaitedAttached) && owner.form == Form::kDetached)
    lock.emplace(thread, owner.table->locks->readers_writers);
  if (resolver == Resolver::kCollects) Collect(thread);
  return Make(owner, key);
}

// A collector, or whoever else stops the world, and looks at what only attached threads use.
void NativeCache::Collect(int thread) {
  const interpreter::Attached attached(thread, *runtime_);
  runtime_->StopTheWorld(thread);
  if (const Owner* owner = held_[thread][static_cast<int>(Form::kCriticalSection)]; owner != nullptr) owner->table->Check();
  arrays_->Visit(thread);
  runtime_->StartTheWorld(thread);
}

// What a call of the owner does: the implementation for the key, found out when it is not in the table.
const Implementation* NativeCache::Resolve(int thread, Owner& owner, int key, int needs, Resolver resolver) {
  std::optional<CriticalSection> section;
  if (owner.form == Form::kCriticalSection) section.emplace(thread, owner.table->locks->section);
  if (const Implementation* found = Get(thread, owner, key); found != nullptr) return found;
  return Miss(thread, owner, key, needs, resolver);
}

// Any number of threads at the same time, without a lock. A critical section that they are in does not last.
const Implementation* NativeCache::Miss(int thread, Owner& owner, int key, int needs, Resolver resolver) {
  std::unique_lock hold(owner.table->locks->resolving, std::defer_lock);
  if (Has(Defect::kResolveUnderLock)) hold.lock();
  if (needs != key) {  // the resolver is foreign code and may come back
    const KeyInUse in_use(needs);
    Resolve(thread, owner, needs, needs, Resolver::kReturns);
  }
  if (Has(Defect::kCallbackUnderTableLock) && owner.form == Form::kDetached) {
    const WriteDetached lock(thread, owner.table->locks->readers_writers);
    CallBack(thread, resolver);
  } else {
    CallBack(thread, resolver);
  }
  const Implementation* mine = Allocate(thread, owner, key, resolver);
  return InsertDefault(thread, owner, key, mine, Has(Defect::kInsertFailsWhenPresent));
}

void NativeCache::Replace(int thread, Owner& owner, int key) {
  const Implementation* mine = Make(owner, key);
  const Implementation* before =
      Record(thread, owner, key, kReplace, mine->number, [&] { return owner.table->Replace(thread, KeyNumber(key), mine); });
  if (before != nullptr && Has(Defect::kReplacedValueFreed)) {
    watch::ImplementationGone(owner.number, before->number);
    delete before;
  }
}

// An owner that nobody else ever sees.
void NativeCache::UseShortLived(int thread, Form form, int key) {
  const KeyInUse in_use(key);
  Owner* owner = NewOwnerOf(form);
  Resolve(thread, *owner, key, key, Resolver::kReturns);
  Resolve(thread, *owner, key, key, Resolver::kReturns);
  Release(owner);
}

void NativeCache::ApplyToTable(int thread, const Operation& operation) {
  Owner& owner = OwnerOf(thread, Form{operation.arguments[0]});
  const int key = operation.code == kGrow ? 0 : operation.arguments[1];
  const KeyInUse in_use(key);
  watch::UseBegins(owner.number);
  switch (operation.code) {
    case kLookup:
      Get(thread, owner, key, true);
      break;
    case kInsert:
      Insert(thread, owner, key, Make(owner, key));
      break;
    case kInsertDefault:
      InsertDefault(thread, owner, key, Make(owner, key));
      break;
    case kResolve:
      Resolve(thread, owner, key, operation.arguments[2], Resolver{operation.arguments[3]});
      break;
    case kReplace:
      Replace(thread, owner, key);
      break;
    default:
      owner.table->Grow(thread);
      break;
  }
  watch::UseEnds(owner.number);
}

void NativeCache::ApplyToSmall(int thread, const Operation& operation) {
  const auto& a = operation.arguments;
  switch (operation.code) {
    case kCallLoop:
      small_->CallLoop(thread, a[0] != 0);
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
    case kExitThread:
      small_->ExitThread(thread);
      break;
    default:
      small_->DropWrapper(thread, a[0]);
      break;
  }
}

void NativeCache::ApplyToOwner(int thread, const Operation& operation) {
  const Form form{operation.arguments[0]};
  std::optional<interpreter::Attached> attached;
  if (IsAttached(form)) attached.emplace(thread, *runtime_);
  if (operation.code == kShortLived) {
    UseShortLived(thread, form, operation.arguments[1]);
  } else if (operation.code != kDrop) {
    ApplyToTable(thread, operation);
  } else if (Owner* owner = std::exchange(held_[thread][operation.arguments[0]], nullptr); owner != nullptr) {
    Release(owner);
  }
}

void NativeCache::ApplyToArray(int thread, const Operation& operation) {
  const interpreter::Attached attached(thread, *runtime_);
  const int array = operation.arguments[0];
  if (operation.code == kExportBuffer) {
    arrays_->Export(thread, array, operation.arguments[1]);
  } else if (operation.code == kReleaseBuffer) {
    arrays_->Release(thread, array);
  } else {
    arrays_->Drop(thread, array);
  }
}

void NativeCache::Apply(int thread, Operation operation) {
  linearizability::OperationBegins(thread);
  if (operation.code <= kShortLived) {
    ApplyToOwner(thread, operation);
  } else if (operation.code == kCollect) {
    Collect(thread);
  } else if (operation.code == kRenewKey) {
    HANDOFF_SYNC_POINT(&locks_, "end of the key's object");
    key_objects::Renew(operation.arguments[0]);
  } else if (operation.code >= kExportBuffer && operation.code <= kDropArray) {
    ApplyToArray(thread, operation);
  } else {
    ApplyToSmall(thread, operation);
  }
}

void NativeCache::End() {
  linearizability::Judge(kMap, program_.ForVerdicts());
  small_->End();
  arrays_->End();
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
  key_objects::Judge();
  newest_ = nullptr;
  small_ = nullptr;
  arrays_ = nullptr;
  runtime_.reset();
  locks_ = nullptr;
}

}  // namespace handoff::cache
