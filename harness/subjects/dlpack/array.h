// A reference-counted array: what the libraries on both sides of an exchange are made of.
//
// Pure C++: no Python, no thread-local state, no lock. Several threads may share one array, and whichever of them drops the last
// reference runs the deleter of what the array was imported from.
#pragma once

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstdint>

#include "harness/oracle/ledger.h"
#include "harness/subjects/dlpack/layout.h"

namespace handoff::dlpack {

// Its description is filled in by whoever makes it; immutable but for its count once a second thread can see it, so that readers
// need no lock.
struct alignas(16) Array : Description {
  // Aligned so as not to lie in the padding of the description, which is copied with it.
  alignas(alignof(Description)) std::atomic<int> references{1};
  bool read_only = false;
  bool copied = false;  // of an import: nobody but us has its payload (R24)
  // Who owns the payload; exactly one of the three is set. A storage of its own lies behind the array in the same block; of the
  // others the deleter is called with the last reference.
  unsigned char* storage = nullptr;
  DLManagedTensor* legacy = nullptr;
  DLManagedTensorVersioned* versioned = nullptr;
  int number = 0;  // the ledger's: of the storage, or of the imported tensor

  Array() = default;
  Array(const Description& description, unsigned char* own_storage, int storage_number)
      : Description(description), storage(own_storage), number(storage_number) {}
};

// An array without a description and a storage; and the end of any array, without telling anybody.
Array* Allocate();
void Free(Array* array);
// A new array with a storage of its own. The caller owns the one reference.
Array* NewArray(const Layout& layout, const ElementType& type);
// A new array with the elements of another, compact and in row-major order.
Array* NewCopy(const Array& from);
// What stands for the array at scheduling points. The caller holds a reference.
const void* TokenOf(const Array& array);
// One more reference to an array that the caller holds a reference to. Returns it.
Array* Retain(Array* array);
// Gives up a reference. The last one frees the array. Null is nothing.
void Drop(Array* array);

// Reads every element of an array and compares it with what was exported. The caller holds a reference.
void ReadAll(const Array& array);
// Inverts every element, as an operation in place would change it, unless others may see the array or its payload or it is
// read-only (R30): whoever shares an array must bring a lock of his own. The caller holds a reference.
void WriteAll(Array& array);
// Reads as above a view that owns nothing, whose elements must be those that `meaning` says.
void ReadBorrowed(const Array& array, const ledger::View& meaning);

}  // namespace handoff::dlpack
