// The ownership ledger: who owns which exported tensor, whether its deleter ran exactly once, and whether its values survived.
//
// Compiled without sanitizers and weak symbols. It watches the subject from outside: neither its own memory nor its reads of a
// payload are accesses that ThreadSanitizer sees, so a ledger entry orders nothing and hides no race. The subject's own reads are
// instrumented; those are what the sanitizers judge.
//
// There is one ledger a process, since a process runs one target. Every function may be called by any thread at any time; a spin
// lock that the sanitizers do not see serves the strategy `free`, where threads really run at the same time. An entry must be
// made while the caller owns what it reports: `Exported` before the struct is published, `Consumed` after the claim is won,
// `Released` before the deleter is called. Then no order of correct operations is ever reported.
//
// Rules are numbered as in harness/subjects/dlpack/rules.cc. A breach ends in oracle::Fail and the call does not return.
#pragma once

#include <cstddef>
#include <cstdint>

namespace handoff::ledger {

// Each operation of a case makes at most one tensor and one storage, or two when it also copies.
inline constexpr int kMaxTensors = 128;
inline constexpr int kMaxStorages = 128;
// Bytes of one storage: eight elements of the largest type.
inline constexpr int kMaxStorageBytes = 128;
// Dimensions of a tensor.
inline constexpr int kMaxRank = 3;

// What an export means, stated by the operation that asked for it and not read from the struct that came out: two independent
// descriptions of the same values.
struct View {
  int storage = 0;  // number given by AddStorage
  int rank = 0;
  std::int64_t shape[kMaxRank] = {};
  std::int64_t strides[kMaxRank] = {};  // in elements, as the address formula (R19) has it; may be zero or negative
  std::int64_t origin = 0;              // in bytes from the start of the storage to element (0, 0, ...)
  std::int64_t offset = 0;              // the part of them that byte_offset says (R20)
  int item_bits = 0;                    // from one element to the next at stride 1; below 8 when packed
  int value_bits = 0;                   // of them, the lowest are the value
  bool foreign = false;                 // a foreign major version: nothing but the deleter may be touched (R12)
  bool read_only = false;               // marked so: nobody writes to it (R30)
  bool copied = false;                  // marked so: nobody else has its storage (R24)
  const char* refusal = nullptr;        // the rule by which a consumer of CPU arrays must refuse it; a literal
};

// Who calls a tensor's deleter: the capsule (here: handle) while the tensor is unconsumed (R7), the consumer afterwards (R10), or
// who gave it to the exchange API, which must not (R39).
enum class Owner : std::uint8_t { kHandle, kConsumer, kGiver };

// How a tensor gets from its producer to its consumer: tells whose fault it is if nobody takes or deletes it.
enum class Way : std::uint8_t { kDirect, kHandle, kApi };

// Forgets everything. Takes time for what was used only. Before each execution, while nobody else calls. Not `concurrent` if the
// scheduler lets one thread run at a time: then nothing is locked.
void Reset(bool concurrent = true);

// A block of `size` bytes at `bytes` holds a payload from now on. Returns its number, from 1. The caller fills it with Payload
// before it publishes it, and keeps owning it.
int AddStorage(const void* bytes, std::size_t size);
// Bytes 8 * `word` to 8 * `word` + 7 of the payload of `storage`, the lowest address in the lowest bits. No two bytes of a
// storage are equal, so that a wrong offset never reads right values.
std::uint64_t Payload(int storage, std::size_t word);
// The same for a block into which a producer copies the elements of `of`, compact and in row-major order; it holds their values.
int AddCopy(const void* bytes, std::size_t size, const View& of);
// What a storage shows to those who hold it without a tensor; by `view.storage`. Before it is published.
void StorageShows(const View& view);
const View& StorageMeaning(int storage);
// The block is about to be freed. Fails while a tensor of this storage is not deleted (R4), and the second time.
void StorageFreed(int storage);

// A managed tensor was made. `tensor` is the struct's address, by which the deleter will name it. Returns its number, from 1.
// Fails if it is marked as a copy while another tensor has its storage (R24).
int Exported(const void* tensor, const View& view);
// Before the tensor leaves its producer. Without a call it goes kDirect.
void Travels(int tensor, Way way);
// The newest tensor at this address is the answer to a max_version; its consumer must look at the version all the same (R14).
// Before it is published.
void AskedByVersion(const void* tensor);
// What a tensor means, for a further export of its values by the consumer that holds it. Valid until Reset, as StorageMeaning is.
const View& Meaning(int tensor);
// A consumer took ownership. Returns the tensor's number, 0 never. Fails if somebody took it before (R9) or it is deleted (R2).
int Consumed(const void* tensor);
// `owner` has decided to call the deleter. The number of a handle's tensor is that of NumberOf. Fails if it owns it no longer.
void Released(int tensor, Owner owner);
// First line of every deleter, before it reads a field: the struct may be gone already. Returns the tensor's number.
int DeleterCalled(const void* tensor);
// The number of the newest tensor at this address, 0 if there never was one.
int NumberOf(const void* tensor);

// Whether a handle or a consumer still owns the newest tensor at this address.
bool Held(const void* tensor);
// Right before the deleter is called: whether there is one (R1).
void CheckDeleter(int tensor, bool present);

// Around each use of the struct or its payload by a consumer. In between nobody may delete it (R5), whatever the schedule.
void Borrowed(int tensor);
void Returned(int tensor);
// A consumer has looked at the struct and keeps the tensor. Fails if it should have refused it.
void Accepted(int tensor);
// What a consumer found: the rank and shape, and element number `k` in row-major order, its bytes in the lowest of `low`, then
// of `high`. Fails if they are not what the export meant.
void ShapeSeen(int tensor, int rank, const std::int64_t* shape);
void ElementRead(int tensor, std::int64_t k, std::uint64_t low, std::uint64_t high);
// Before such a read: fails if the storage of a view that nobody owns was freed (R38).
void BorrowedUse(const View& view);
// The same as ElementRead for a view that nobody owns.
void BorrowedRead(const View& view, std::int64_t k, std::uint64_t low, std::uint64_t high);

// Whoever has `view` is about to invert the bits of element `k`, and nobody else reads or writes it meanwhile. Fails if the view
// is read-only (R30).
void ElementInverted(const View& view, std::int64_t k);

// An object of the subject's own that must be gone at the end, whatever it owns: a capsule, a Python array. Made and gone as
// often.
void ObjectMade();
void ObjectGone();

// What stands for a tensor or a storage at scheduling points, other numbers included. Their own addresses will not do: allocators
// give them out as they like, strategies compare objects, and so two runs of one case would differ.
const void* TensorToken(int tensor);
const void* StorageToken(int storage);

// Whether a tensor is not deleted yet, a storage not freed, or an object not gone.
bool Outstanding();
// At the end of an execution, when the subject has dropped everything: each deleter ran (R3, R7, R39) and each storage was freed.
void Judge();

}  // namespace handoff::ledger
