// What an export means, told to the ledger by the operation that asked for it and not read from the struct that came out.
//
// Compiled without sanitizers: this is the oracle's side, whose accesses are neither scheduling points nor anybody's race. Any
// thread, while it holds a reference to the array.
#pragma once

#include <cstddef>

#include "harness/oracle/ledger.h"
#include "harness/subjects/dlpack/array.h"
#include "harness/subjects/dlpack/managed_tensor.h"

namespace handoff::dlpack {

// A storage that `layout` and `type` show, for the caller to fill with ledger::Payload. Returns its number.
int TellStorage(const unsigned char* bytes, std::size_t size, const Layout& layout, const ElementType& type);
// A storage of `size` bytes into which the elements of `from` are copied, compact and in row-major order. Returns its number.
int TellCopy(const unsigned char* bytes, std::size_t size, const Array& from);
// `tensor`, a new managed tensor that nobody else has seen, shows `array` and is of this kind. Fails if the struct says something
// else: NULL strides (R18), data without elements (R17), a flag too many (R29) or too few (R21, R24, R30).
void TellExport(const DLManagedTensor& tensor, const Array& array, Kind kind);
void TellExport(const DLManagedTensorVersioned& tensor, const Array& array, Kind kind);

// What an export of the array means. Valid to the end of the execution; owned by the ledger.
const ledger::View& Meaning(const Array& array);

}  // namespace handoff::dlpack
