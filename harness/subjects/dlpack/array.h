// A reference-counted array: what the libraries on both sides of an exchange are made of, and the managed tensors that carry it
// across.
//
// Pure C++: no Python, no thread-local state, no lock. Several threads may share one array, and whichever of them drops the last
// reference runs the deleter of what the array was imported from.
#pragma once

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "harness/oracle/ledger.h"
#include "harness/subjects/dlpack/layout.h"

namespace handoff::dlpack {

// What is exported. Text cases use the names of kKindNames: append only.
enum class Kind : std::uint8_t { kLegacy, kVersioned, kReadOnly, kCopied, kNextMajor };
inline constexpr std::array<std::string_view, 5> kKindNames = {"legacy", "versioned", "read_only", "copied", "next_major"};

// Immutable but for its count once a second thread can see it, so that readers need no lock.
struct Array {
  std::atomic<int> references{1};
  DLTensor view{};  // shape and strides point into the two fields below, never NULL (but for rank 0)
  std::int64_t shape[ledger::kMaxRank] = {};
  std::int64_t strides[ledger::kMaxRank] = {};
  bool null_strides = false;  // a legacy export leaves the strides out
  bool read_only = false;
  // Who owns the payload; exactly one of the three is set. The storage is freed, or the deleter called, with the last reference.
  unsigned char* storage = nullptr;
  DLManagedTensor* legacy = nullptr;
  DLManagedTensorVersioned* versioned = nullptr;
  int number = 0;                  // the ledger's: of the storage, or of the imported tensor
  const Layout* layout = nullptr;  // what a storage of our own shows; static
};

// A new array with a storage of its own. The caller owns the one reference.
Array* NewArray(const Layout& layout, const DLDataType& type);
// One more reference to an array that the caller holds a reference to. Returns it.
Array* Retain(Array* array);
// Gives up a reference. The last one frees the array. Null is nothing.
void Drop(Array* array);

// The parts of a producer. A new managed tensor (DLManagedTensor or DLManagedTensorVersioned) that shows `array`, with `owner` in
// manager_ctx to keep the payload alive. Owned by the caller until it is published.
template <typename Managed>
Managed* NewExport(const Array& array, Kind kind, void* owner, void (*deleter)(Managed* self));
// What such a deleter does first: tells the ledger, frees the struct (R2) and returns the owner, which is still to be dropped.
template <typename Managed>
void* EndExport(Managed* self);

// The pure C++ producer: the managed tensor holds a reference to `array` until its deleter is called, by any thread.
DLManagedTensor* ExportLegacy(Array* array);
DLManagedTensorVersioned* ExportVersioned(Array* array, Kind kind);

// An array that owns `tensor` from now on, whatever happens: on refusal (null is returned: a foreign major version, R12) its
// deleter has been called. `number` is the ledger's.
Array* Import(DLManagedTensor* tensor, int number);
Array* Import(DLManagedTensorVersioned* tensor, int number);
// Calls the deleter unless there is none (R1). The caller owns `tensor` and has told the ledger.
void CallDeleter(DLManagedTensor* tensor);
void CallDeleter(DLManagedTensorVersioned* tensor);

// Reads every element of an imported array and compares it with what was exported. The caller holds a reference.
void ReadAll(const Array& array);

}  // namespace handoff::dlpack
