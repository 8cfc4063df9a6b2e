#include "harness/subjects/dlpack/rules.h"

namespace handoff::dlpack {
namespace {

using enum Source;

constexpr Rule kRules[] = {
    // Struct and ownership
    {"R1", kHeader, "A deleter may be NULL; then nobody calls it.", "protocol", "null_deleter_called"},
    {"R2", kHeader, "The deleter destroys the struct too: nothing of it is touched afterwards.", "use-after-delete",
     "read_after_deleter"},
    {"R3", kPython, "Each deleter runs exactly once by the time that the last owner is gone.", "double-delete missing-delete",
     "refuse_without_delete"},
    {"R4", kPython, "The producer keeps data, shape and strides valid and unchanged until the deleter is called.",
     "delete-while-held wrong-value storage-leak", "export_without_retain"},
    {"R5", kHeader, "The borrower calls the deleter when it is done, and not before.", "delete-while-held",
     "DeletingWhileSomebodyReadsBreaksR5"},
    // Capsule
    {"R6", kPython, "A capsule has one of two static names, which tells the kind of struct.", "protocol", "capsule_misnamed"},
    {"R7", kPython, "The capsule's destructor calls the deleter while the name says unused.", "missing-delete",
     "drop_without_delete"},
    {"R8", kPython, "A consumer takes ownership by renaming the capsule.", "protocol",
     "AConsumerThatDeletesWithoutTakingBreaksR8"},
    {"R9", kPython, "A renamed capsule is not consumed again.", "double-consume", "check_then_rename"},
    {"R10", kPython, "After renaming the consumer deletes, and the capsule's destructor does nothing.", "double-delete",
     "drop_ignores_name"},
    // Two threads that use one capsule are a data race, which ThreadSanitizer reports without the number of a rule.
    {"R10a", kCPython, "Whoever shares one capsule between threads must serialise its use.", "thread", "check_then_rename"},
    // Where the deleter runs
    {"R11", kPython, "A deleter that needs Python attaches by itself, on any thread, and leaks when the interpreter is gone.",
     "no-thread-state after-finalization", "deleter_without_thread_state"},
    {"R11a", kPython, "A destructor leaves the error indicator as it finds it.", "protocol", "destructor_clears_exception"},
    // Versions
    {"R12", kHeader, "Of a struct of a foreign major version nothing but the deleter is used.", "protocol", "major_ignored"},
    {"R13", kHeader, "A minor version may bring new values of enumerations; a consumer refuses those it does not know.",
     "protocol", "unchecked_import"},
    {"R14", kArrayApi, "A consumer looks at the version even if it passed max_version.", "protocol", "major_ignored"},
    {"R15", kArrayApi, "Without max_version the producer returns the legacy struct, else one that the consumer knows.",
     "protocol", "max_version_ignored"},
    // Tensor
    {"R16", kHeader,
     "Rank 0 may have NULL shape and strides; no rank is negative, and a consumer refuses one that it has no room for.",
     "protocol wrong-value", "unchecked_import"},
    {"R17", kHeader, "A tensor without elements has NULL data.", "protocol", "empty_keeps_data"},
    {"R18", kHeader, "Strides are NULL in legacy structs only; there they mean compact and row-major.", "protocol",
     "versioned_null_strides"},
    {"R19", kHeader, "An element lies at data + byte_offset + index * stride * item size.", "wrong-value", "strides_ignored"},
    {"R20", kHeader, "byte_offset is honoured; alignment is not relied on.", "wrong-value", "byte_offset_ignored"},
    {"R21", kHeader, "A type's bits are what its code allows; elements below a byte are packed unless the flag says padded.",
     "protocol wrong-value", "padding_ignored"},
    {"R21a", kHeader, "The device number of a CPU is 0.", "protocol", "unchecked_import"},
    // Negotiation
    {"R22", kArrayApi, "copy=True copies, copy=False does not or raises BufferError.", "protocol", "copy_ignored"},
    {"R23", kArrayApi, "A device that cannot be had raises BufferError.", "protocol", "wrong_error_class"},
    {"R24", kArrayApi, "A copy is marked as one.", "protocol", "copied_flag_missing"},
    {"R25", kArrayApi, "A keyword that is not understood raises TypeError, and the consumer asks again without.", "protocol",
     "unknown_keyword_ignored"},
    {"R26", kArrayApi, "The stream of a CPU is None.", "protocol", "stream_ignored"},
    {"R27", kPython, "The producer makes the data ready on the consumer's stream.", "", "there is no device with streams here"},
    {"R28", kArrayApi,
     "What cannot be exported raises BufferError, bad arguments something else, and nothing is refused without need.", "protocol",
     "copy_false_refused"},
    // Flags
    {"R29", kHeader, "Flags are 0 unless there is something to say.", "protocol", "flag_without_reason"},
    {"R30", kHeader, "READ_ONLY marks data that must not be written.", "protocol", "read_only_written"},
    {"R31", kArrayApi, "A consumer without support for read-only data ignores the flag.", "",
     "leaves the choice to the consumer"},
    {"R32", kArrayApi, "A producer that cannot say read-only refuses.", "protocol", "read_only_flag_lost"},
    // C exchange API
    {"R33", kHeader, "The type has the API as a capsule of a given name, whose struct lives as long as the process.", "protocol",
     "api_in_wrong_capsule"},
    {"R34", kHeader, "Four of its five functions are not NULL.", "protocol", "api_lacks_function"},
    {"R35", kHeader, "A consumer checks the API's major version, and may walk back to an older one.", "protocol",
     "api_major_ignored"},
    {"R36", kHeader, "A consumer looks the API up on the type, not on the object.", "protocol", "api_looked_up_on_object"},
    {"R37", kHeader, "Functions return 0, or -1 with a Python exception, and throw nothing of C++.", "protocol",
     "api_error_without_exception"},
    {"R38", kHeader, "A borrowed view is valid only until control returns to its producer.", "use-after-delete",
     "api_view_outlives_object"},
    {"R39", kHeader, "Wrapping a managed tensor takes it over.", "double-delete missing-delete", "api_keeps_stolen_tensor"},
    {"R40", kHeader, "The allocator calls SetError exactly when it fails.", "protocol", "allocator_forgets_error"},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

}  // namespace handoff::dlpack
