#include "harness/oracle/ledger.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "harness/oracle/verdict.h"

namespace handoff::ledger {
namespace {

using oracle::Fail;

enum class State : std::uint8_t { kFresh, kConsumed, kReleased, kDeleted };

struct Tensor {
  const void* address;  // of the struct; not owned, and stale once the tensor is deleted
  State state;
  bool taken;       // a consumer has had it
  bool by_version;  // asked for with a max_version
  Way way;
  int borrowers;
  View view;
};

struct Storage {
  const unsigned char* bytes;  // not owned; stale once freed
  std::size_t size;
  bool freed;
  bool changed;  // its payload is `content`, else what Payload says
  unsigned char content[kMaxStorageBytes];
  View shows;
};

// Entries 1 to the count are in use; an entry is set up when its number is given out, so Reset has nothing to clear.
constinit Tensor tensors[kMaxTensors + 1] = {};
constinit Storage storages[kMaxStorages + 1] = {};
int tensor_count = 0;
int storage_count = 0;
int object_count = 0;
int lock = 0;
bool locks = true;

// Nobody is ever stopped by the scheduler in here, so under control no lock is needed. The raw system call keeps the wait of
// freely running threads out of sight of the scheduler's sched_yield.
void Lock() {
  while (locks && __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) syscall(SYS_sched_yield);
}
void Unlock() {
  if (locks) __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

const char* Word(State state) {
  switch (state) {
    case State::kFresh:
      return "not consumed yet";
    case State::kConsumed:
      return "held by its consumer";
    case State::kReleased:
      return "being deleted";
    case State::kDeleted:
      return "deleted";
  }
  return "";
}

// Newest first: an address is used again once its block is freed. Call with the lock held.
int Find(const void* address) {
  for (int i = tensor_count; i > 0; --i) {
    if (tensors[i].address == address) return i;
  }
  return 0;
}

unsigned char PayloadByte(int storage, std::size_t index) {
  // Odd factors have an inverse modulo 256: no two of 128 neighbours are equal.
  return static_cast<unsigned char>(static_cast<std::size_t>(storage) * 101 + index * 7 + 3);
}

unsigned char ExpectedByte(int storage, std::size_t index) {
  return storages[storage].changed ? storages[storage].content[index] : PayloadByte(storage, index);
}

// Where element `k` begins, in bits from the start of the storage.
std::int64_t FirstBit(const View& view, std::int64_t k) {
  std::int64_t bit = view.origin * 8;
  for (int d = view.rank - 1; d >= 0; --d) {
    bit += k % view.shape[d] * view.strides[d] * view.item_bits;
    k /= view.shape[d];
  }
  return bit;
}

// `bit` is where an element begins, and `from` is where in it we look.
unsigned ExpectedBits(const View& view, std::int64_t bit, int from) {
  const unsigned mask = view.value_bits - from < 8 ? (1U << view.value_bits) - 1 : 0xff;
  const auto at = static_cast<std::size_t>(bit + from);
  return unsigned{ExpectedByte(view.storage, at / 8)} >> (at % 8) & mask;
}

// Byte number `from` / 8 of an element.
unsigned FoundBits(const View& view, std::uint64_t low, std::uint64_t high, int from) {
  const unsigned mask = view.value_bits - from < 8 ? (1U << view.value_bits) - 1 : 0xff;
  return static_cast<unsigned>((from < 64 ? low : high) >> (from % 64)) & mask;
}

// Whether an element has the value that somebody finds who believes in `other`.
bool ReadAs(const View& other, std::int64_t k, std::uint64_t low, std::uint64_t high) {
  const std::int64_t first = FirstBit(other, k);
  if (first < 0 || first + other.value_bits > static_cast<std::int64_t>(storages[other.storage].size * 8)) return false;
  for (int from = 0; from < other.value_bits; from += 8) {
    if (FoundBits(other, low, high, from) != ExpectedBits(other, first, from)) return false;
  }
  return true;
}

// What was overlooked by whoever read a wrong value: the rule, and how it goes.
struct Overlooked {
  const char* rule;
  const char* text;
};

Overlooked WhyWrong(const View& view, std::int64_t k, std::uint64_t low, std::uint64_t high) {
  View other = view;
  other.origin -= view.offset;
  if (view.offset != 0 && ReadAs(other, k, low, high))
    return {"R20", "This is the value that lies there without byte_offset, which must be added to data."};
  other = view;
  other.item_bits = view.value_bits;
  if (view.item_bits != view.value_bits && ReadAs(other, k, low, high))
    return {"R21", "This is the value that lies there if elements are packed; the flag says that each takes a byte."};
  return {"R19", "An element lies at data + byte_offset + index * stride * item size."};
}

void CheckElement(const View& view, int tensor, std::int64_t k, std::uint64_t low, std::uint64_t high) {
  const std::int64_t first = FirstBit(view, k);
  for (int from = 0; from < view.value_bits; from += 8) {
    const unsigned expected = ExpectedBits(view, first, from);
    const unsigned found = FoundBits(view, low, high, from);
    if (found == expected) continue;
    const Overlooked why = WhyWrong(view, k, low, high);
    Fail("wrong-value", why.rule,
         "Element %lld of tensor %d was read as 0x%02x in its byte %d, expected 0x%02x, byte %lld of storage %d. %s",
         static_cast<long long>(k), tensor, found, from / 8, expected, static_cast<long long>((first + from) / 8), view.storage,
         why.text);
  }
}

void CheckAlive(int number, const char* use) {
  const Tensor& t = tensors[number];
  if (number < 1 || number > tensor_count) Fail("harness", "", "%s of tensor %d, which the ledger does not know.", use, number);
  if (t.state == State::kReleased || t.state == State::kDeleted) {
    Fail("use-after-delete", "R2",
         "%s of tensor %d, which is %s. After its deleter was called nobody may touch the struct, its shape, its strides or its "
         "data.",
         use, number, Word(t.state));
  }
  if (t.view.foreign && t.by_version) {
    Fail("protocol", "R14",
         "%s of tensor %d, whose major version is foreign. That its consumer passed max_version is no reason not to look.", use,
         number);
  }
  if (t.view.foreign) {
    Fail("protocol", "R12",
         "%s of tensor %d, whose major version is foreign. A consumer may do nothing with it but call its deleter.", use, number);
  }
}

// Without a branch for each byte, since nearly always all are right.
bool HoldsPayload(const Storage& s, int storage) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < s.size; ++i) difference |= unsigned{s.bytes[i]} ^ PayloadByte(storage, i);
  return difference == 0;
}

// Uninstrumented on purpose: the deleter owns the struct but not the payload, which other tensors may share and read.
void CheckPayload(int number) {
  const Storage& s = storages[tensors[number].view.storage];
  if (s.freed || (!s.changed && HoldsPayload(s, tensors[number].view.storage))) return;
  for (std::size_t i = 0; i < s.size; ++i) {
    const unsigned char expected = ExpectedByte(tensors[number].view.storage, i);
    if (s.bytes[i] == expected) continue;
    Fail("wrong-value", "R4",
         "Byte %zu of the payload of tensor %d changed before its deleter was called: expected 0x%02x, found 0x%02x.", i, number,
         unsigned{expected}, unsigned{s.bytes[i]});
  }
}

void CheckBorrowed(const View& view) {
  if (storages[view.storage].freed) {
    Fail("use-after-delete", "R38",
         "A borrowed view is read after its storage %d was freed. It is valid only while its producer is held.", view.storage);
  }
}

// Nobody took the tensor over: then it is the fault of where it was, else of its consumer.
[[noreturn]] void FailMissing(int number) {
  const Tensor& t = tensors[number];
  if (t.state == State::kFresh && t.way == Way::kHandle) {
    Fail("missing-delete", "R7",
         "The deleter of tensor %d never ran: at the end it is %s. The destructor of a handle calls it as long as the name says "
         "unused; or the handle itself was never destroyed.",
         number, Word(t.state));
  }
  if (t.state == State::kFresh && t.way == Way::kApi) {
    Fail("missing-delete", "R39",
         "The deleter of tensor %d never ran: at the end it is %s. managed_tensor_to_py_object_no_sync takes over what it is "
         "given.",
         number, Word(t.state));
  }
  Fail("missing-delete", "R3",
       "The deleter of tensor %d never ran: at the end it is %s. Whoever owns a tensor last calls its deleter.", number,
       Word(t.state));
}

}  // namespace

void Reset(bool concurrent) {
  locks = concurrent;
  tensor_count = 0;
  storage_count = 0;
  object_count = 0;
  lock = 0;
}

int AddStorage(const void* bytes, std::size_t size) {
  Lock();
  if (storage_count == kMaxStorages || size > kMaxStorageBytes) {
    Fail("harness", "", "The ledger holds %d storages of %d bytes. Raise kMaxStorages or kMaxStorageBytes.", kMaxStorages,
         kMaxStorageBytes);
  }
  const int number = ++storage_count;
  Storage& s = storages[number];
  s.bytes = static_cast<const unsigned char*>(bytes);
  s.size = size;
  s.freed = false;
  s.changed = false;
  Unlock();
  return number;
}

int AddCopy(const void* bytes, std::size_t size, const View& of) {
  const int number = AddStorage(bytes, size);
  Lock();
  Storage& s = storages[number];
  for (std::size_t i = 0; i < size; ++i) s.content[i] = 0;
  std::int64_t count = 1;
  for (int d = 0; d < of.rank; ++d) count *= of.shape[d];
  for (std::int64_t k = 0; k < count; ++k) {
    for (int from = 0; from < of.value_bits; from += 8) {
      const auto to = static_cast<std::size_t>(k * of.item_bits + from);
      s.content[to / 8] = static_cast<unsigned char>(s.content[to / 8] | ExpectedBits(of, FirstBit(of, k), from) << (to % 8));
    }
  }
  s.changed = true;
  Unlock();
  return number;
}

void StorageShows(const View& view) { storages[view.storage].shows = view; }
const View& StorageMeaning(int storage) { return storages[storage].shows; }

std::uint64_t Payload(int storage, std::size_t word) {
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < 8; ++b) bytes |= std::uint64_t{PayloadByte(storage, word * 8 + b)} << (8 * b);
  return bytes;
}

void StorageFreed(int storage) {
  Lock();
  Storage& s = storages[storage];
  if (s.freed) Fail("double-delete", "R4", "Storage %d is freed a second time.", storage);
  for (int i = 1; i <= tensor_count; ++i) {
    const Tensor& t = tensors[i];
    if (t.view.storage != storage || t.state == State::kDeleted) continue;
    Fail("delete-while-held", "R4",
         "Storage %d is freed while tensor %d is %s. A producer keeps data, shape and strides valid until the deleter is called.",
         storage, i, Word(t.state));
  }
  s.freed = true;
  Unlock();
}

int Exported(const void* tensor, const View& view) {
  Lock();
  if (tensor_count == kMaxTensors) Fail("harness", "", "The ledger holds %d tensors. Raise kMaxTensors.", kMaxTensors);
  for (int i = 1; view.copied && i <= tensor_count; ++i) {
    if (tensors[i].view.storage != view.storage || tensors[i].state == State::kDeleted) continue;
    Fail("protocol", "R24",
         "Tensor %d is marked as a copy, but shows storage %d, which tensor %d shows too. A copy has memory of its own.",
         tensor_count + 1, view.storage, i);
  }
  const int number = ++tensor_count;
  Tensor& t = tensors[number];
  t.address = tensor;
  t.state = State::kFresh;
  t.taken = false;
  t.by_version = false;
  t.way = Way::kDirect;
  t.borrowers = 0;
  t.view = view;
  Unlock();
  return number;
}

void Travels(int tensor, Way way) {
  Lock();
  tensors[tensor].way = way;
  Unlock();
}

void AskedByVersion(const void* tensor) {
  Lock();
  tensors[Find(tensor)].by_version = true;
  Unlock();
}

const View& Meaning(int tensor) {
  Lock();
  CheckAlive(tensor, "Export");
  Unlock();
  return tensors[tensor].view;  // written before the tensor was published, and never again
}

int Consumed(const void* tensor) {
  Lock();
  const int number = Find(tensor);
  Tensor& t = tensors[number];
  if (number == 0) Fail("protocol", "R8", "A consumer took a tensor that was never exported.");
  if (t.state == State::kConsumed) {
    Fail("double-consume", "R9", "Tensor %d is consumed a second time. Exactly one consumer may rename its handle and take it.",
         number);
  }
  if (t.state != State::kFresh) {
    Fail("use-after-delete", "R2",
         "Tensor %d is consumed although it is %s. Take the tensor only after the claim on its handle is won.", number,
         Word(t.state));
  }
  t.state = State::kConsumed;
  t.taken = true;
  Unlock();
  return number;
}

void Released(int tensor, Owner owner) {
  Lock();
  Tensor& t = tensors[tensor];
  if (tensor < 1 || tensor > tensor_count) Fail("protocol", "R2", "Somebody releases a tensor that was never exported.");
  if (owner == Owner::kHandle && t.taken) {
    Fail("double-delete", "R10",
         "The handle calls the deleter of tensor %d, which a consumer took and which is %s. The destructor of a renamed handle "
         "does "
         "nothing: the consumer deletes.",
         tensor, Word(t.state));
  }
  if (owner == Owner::kGiver && t.taken) {
    Fail("double-delete", "R39",
         "Whoever gave tensor %d to managed_tensor_to_py_object_no_sync calls its deleter. The function took it over.", tensor);
  }
  if (t.state == State::kDeleted || t.state == State::kReleased) {
    Fail("double-delete", "R3", "The %s calls the deleter of tensor %d, which is %s. A deleter runs once.",
         owner == Owner::kHandle ? "handle" : "consumer", tensor, Word(t.state));
  }
  if (owner == Owner::kConsumer && t.state == State::kFresh) {
    Fail("protocol", "R8", "A consumer calls the deleter of tensor %d without having taken it. Rename the handle first.", tensor);
  }
  t.state = State::kReleased;
  Unlock();
}

int DeleterCalled(const void* tensor) {
  Lock();
  const int number = Find(tensor);
  Tensor& t = tensors[number];
  if (number == 0) Fail("protocol", "R2", "The deleter was called with a struct that was never exported.");
  if (t.state == State::kDeleted) Fail("double-delete", "R3", "The deleter of tensor %d runs a second time.", number);
  if (t.state != State::kReleased || t.borrowers > 0) {
    Fail("delete-while-held", "R5",
         "The deleter of tensor %d runs while the tensor is %s and %d read it. Only its owner calls it, when all are done.",
         number, Word(t.state), t.borrowers);
  }
  CheckPayload(number);
  t.state = State::kDeleted;
  Unlock();
  return number;
}

bool Held(const void* tensor) {
  Lock();
  const State state = tensors[Find(tensor)].state;
  Unlock();
  return state == State::kFresh || state == State::kConsumed;
}

void CheckDeleter(int tensor, bool present) {
  if (!present)
    Fail("protocol", "R1", "The deleter of tensor %d is called, but there is none. A NULL deleter is not called.", tensor);
}

int NumberOf(const void* tensor) {
  Lock();
  const int number = Find(tensor);
  Unlock();
  return number;
}

void Borrowed(int tensor) {
  Lock();
  CheckAlive(tensor, "Use");
  ++tensors[tensor].borrowers;
  Unlock();
}

void Returned(int tensor) {
  Lock();
  --tensors[tensor].borrowers;
  Unlock();
}

void Accepted(int tensor) {
  Lock();
  CheckAlive(tensor, "Import");
  const char* rule = tensors[tensor].view.refusal;
  if (rule != nullptr) {
    Fail("protocol", rule,
         "A consumer keeps tensor %d, whose device, rank or type it cannot handle. It must refuse it and call its deleter.",
         tensor);
  }
  Unlock();
}

void ShapeSeen(int tensor, int rank, const std::int64_t* shape) {
  Lock();
  CheckAlive(tensor, "Use");
  const View& view = tensors[tensor].view;
  if (rank != view.rank) Fail("wrong-value", "R16", "Tensor %d has rank %d, and its consumer sees %d.", tensor, view.rank, rank);
  for (int d = 0; d < rank; ++d) {
    if (shape[d] == view.shape[d]) continue;
    Fail("wrong-value", "R4", "Dimension %d of tensor %d is %lld, and its consumer sees %lld.", d, tensor,
         static_cast<long long>(view.shape[d]), static_cast<long long>(shape[d]));
  }
  Unlock();
}

void ElementRead(int tensor, std::int64_t k, std::uint64_t low, std::uint64_t high) {
  Lock();
  CheckAlive(tensor, "Read");
  CheckElement(tensors[tensor].view, tensor, k, low, high);
  Unlock();
}

void BorrowedUse(const View& view) {
  Lock();
  CheckBorrowed(view);
  Unlock();
}

void BorrowedRead(const View& view, std::int64_t k, std::uint64_t low, std::uint64_t high) {
  Lock();
  CheckBorrowed(view);
  CheckElement(view, 0, k, low, high);
  Unlock();
}

void ElementInverted(const View& view, std::int64_t k) {
  Lock();
  if (view.read_only) {
    Fail("protocol", "R30", "A consumer writes to storage %d, which was exported as read-only. Look at the flag, or make a copy.",
         view.storage);
  }
  Storage& s = storages[view.storage];
  for (std::size_t i = 0; !s.changed && i < s.size; ++i) s.content[i] = PayloadByte(view.storage, i);
  s.changed = true;
  const std::int64_t first = FirstBit(view, k);
  for (int from = 0; from < view.value_bits; from += 8) {
    const unsigned mask = view.value_bits - from < 8 ? (1U << view.value_bits) - 1 : 0xff;
    const auto at = static_cast<std::size_t>(first + from);
    s.content[at / 8] = static_cast<unsigned char>(s.content[at / 8] ^ mask << (at % 8));
  }
  Unlock();
}

void ObjectMade() { __atomic_add_fetch(&object_count, 1, __ATOMIC_RELAXED); }
void ObjectGone() { __atomic_sub_fetch(&object_count, 1, __ATOMIC_RELAXED); }

const void* TensorToken(int tensor) { return &tensors[tensor]; }
const void* StorageToken(int storage) { return &storages[storage]; }

bool Outstanding() {
  Lock();
  bool found = __atomic_load_n(&object_count, __ATOMIC_RELAXED) != 0;
  for (int i = 1; i <= tensor_count; ++i) found = found || tensors[i].state != State::kDeleted;
  for (int i = 1; i <= storage_count; ++i) found = found || !storages[i].freed;
  Unlock();
  return found;
}

void Judge() {
  Lock();
  for (int i = 1; i <= tensor_count; ++i) {
    if (tensors[i].state != State::kDeleted) FailMissing(i);
  }
  for (int i = 1; i <= storage_count; ++i) {
    if (!storages[i].freed) Fail("storage-leak", "R4", "Storage %d was never freed although all of its tensors are deleted.", i);
  }
  if (object_count > 0) {
    Fail("object-leak", "",
         "%d objects (capsules, Python arrays) are left although their tensors are deleted: a reference was not dropped.",
         object_count);
  }
  Unlock();
}

}  // namespace handoff::ledger
