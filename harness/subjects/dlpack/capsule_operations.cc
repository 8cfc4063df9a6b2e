#include "harness/subjects/dlpack/capsule_operations.h"

#include "harness/subjects/dlpack/managed_tensor.h"
#include "harness/subjects/dlpack/negotiation.h"
#include "harness/subjects/twins.h"

namespace handoff::dlpack::capsule {
namespace {

constexpr Argument kSlot{"slot", kSlots};
constexpr Argument kBox{"box", kBoxes};
constexpr Argument kState{"state", kStateNames.size(), kStateNames};
constexpr Argument kPendingState{"pending", kPendingNames.size(), kPendingNames};
constexpr Argument kStep{"step", kStepNames.size(), kStepNames};
constexpr Argument kVersion{"max_version", kVersionNames.size(), kVersionNames};
constexpr Argument kDevice{"dl_device", kDeviceNames.size(), kDeviceNames};
constexpr Argument kCopy{"copy", kCopyNames.size(), kCopyNames};
constexpr Argument kStream{"stream", kStreamNames.size(), kStreamNames};
constexpr Argument kWhen{"when", kWhenNames.size(), kWhenNames};
constexpr Argument kAction{"action", kActionNames.size(), kActionNames};
constexpr Argument kKind{"kind", kKindNames.size(), kKindNames};

// A new thread costs about as much as a whole execution without one, hence a small weight; the states of a subinterpreter cost
// tens of times as much, as does a collection, and a finalisation (a forked child) hundreds, hence none: seeds ask for them, and
// mutants of seeds.
const std::array<OperationKind, 21> kOperations = {{
    {"export",
     {kSlot, kKind, {"layout", kLayoutNames.size(), kLayoutNames}, {"type", kElementTypeNames.size(), kElementTypeNames}},
     4,
     20},
    {"consume", {kSlot}, 1, 16},
    {"import", {kSlot}, 1, 12},
    {"refuse", {kSlot, kStep}, 2, 4},
    {"reexport", {kSlot, kKind}, 2, 6},
    {"export_again", {kSlot}, 1, 6},
    {"read", {}, 0, 12},
    {"drop", {kSlot, kPendingState}, 2, 8},
    {"release", {kState}, 1, 8},
    {"release_on_new_thread", {}, 0, 1},
    {"forget", {}, 0, 8},
    {"give", {kBox}, 1, 6},
    {"share", {kBox}, 1, 6},
    {"take", {kBox}, 1, 8},
    {"finalize", {kWhen}, 1, 0},
    {"negotiate", {kVersion, kDevice, kCopy, kStream}, 4, 8},
    {"api", {kAction, kKind}, 2, 8},
    {"export_from_subinterpreter", {kSlot}, 1, 0},
    {"write", {}, 0, 6},
    {"collect", {}, 0, 0},
    {"import_stranger", {}, 0, 1},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 40> kTwinTable = {{
    {{"drop_ignores_name", "dmlc/dlpack#51: the capsule's destructor calls the deleter whatever the name says", "double-delete"},
     Defect::kDropIgnoresName},
    {{"drop_without_delete", "kornia/kornia-rs#782: the destructor of an unconsumed capsule returns early", "missing-delete"},
     Defect::kDropWithoutDelete},
    {{"rename_after_failure_window", "pytorch/pytorch#56789: a consumer that fails before it renames leaves two owners behind",
      "double-delete"},
     Defect::kRenameAfterFailureWindow},
    {{"check_then_rename", "python/cpython#145563: two consumers check and change the name of one capsule without a lock",
      "thread"},
     Defect::kCheckThenRename},
    {{"read_after_deleter", "smallest breach of R2, after dmlc/dlpack#39: a consumer reads the struct when its deleter has run",
      "use-after-delete"},
     Defect::kReadAfterDeleter},
    {{"export_without_retain", "NVIDIA/TensorRT-LLM#18310: the exported struct does not keep its Python owner alive",
      "delete-while-held"},
     Defect::kExportWithoutRetain},
    {{"byte_offset_ignored", "pytorch/pytorch#168177: byte_offset is ignored on import", "wrong-value"},
     Defect::kByteOffsetIgnored},
    {{"deleter_without_thread_state", "apache/tvm-ffi#529: without a GIL the deleter is believed to need no thread state",
      "no-thread-state"},
     Defect::kDeleterWithoutThreadState},
    {{"deleter_attaches_after_finalization", "wjakob/nanobind 2fce88af: a late deleter attaches to an interpreter that is gone",
      "after-finalization"},
     Defect::kDeleterAttachesAfterFinalization},
    {{"deleter_attaches_main_interpreter",
      "python/cpython#59956: PyGILState_Ensure attaches to the main interpreter, whoever owns the object", "wrong-interpreter"},
     Defect::kDeleterAttachesMainInterpreter},
    {{"destructor_clears_exception", "pytorch/pytorch#84056: the capsule's destructor clears a pending exception", "protocol"},
     Defect::kDestructorClearsException},
    {{"capsule_reference_leaked", "tensorflow/tensorflow#40061: every import keeps a reference to its capsule", "object-leak"},
     Defect::kCapsuleReferenceLeaked},
    {{"max_version_ignored", "cupy/cupy#9007: a consumer that passes no max_version gets the versioned struct", "protocol"},
     Defect::kMaxVersionIgnored},
    {{"wrong_error_class", "numpy/numpy#30341: an unsupported dl_device raises ValueError", "protocol"},
     Defect::kWrongErrorClass},
    {{"copy_ignored", "smallest breach of R22: copy=True returns the array's own memory", "protocol"}, Defect::kCopyIgnored},
    {{"copied_flag_missing", "smallest breach of R24: a copy is not marked as one", "protocol"}, Defect::kCopiedFlagMissing},
    {{"stream_ignored", "cupy/cupy#5970: stream 0 is accepted", "protocol"}, Defect::kStreamIgnored},
    {{"unknown_keyword_ignored", "smallest breach of R25: a keyword that is not understood is ignored", "protocol"},
     Defect::kUnknownKeywordIgnored},
    {{"copy_false_refused", "smallest breach of R28: copy=False is refused although nothing must be copied", "protocol"},
     Defect::kCopyFalseRefused},
    {{"read_only_flag_lost", "IntelPython/dpctl#1755: a read-only array is exported in a legacy struct, which cannot say so",
      "protocol"},
     Defect::kReadOnlyFlagLost},
    {{"api_in_wrong_capsule", "smallest breach of R33: the exchange API is in a capsule of another name", "protocol"},
     Defect::kApiInWrongCapsule},
    {{"api_lacks_function", "smallest breach of R34: the exchange API has no allocator", "protocol"}, Defect::kApiLacksFunction},
    {{"api_major_ignored", "smallest breach of R35: a consumer calls an exchange API of a foreign major version", "protocol"},
     Defect::kApiMajorIgnored},
    {{"api_error_without_exception", "smallest breach of R37: an exchange function fails without setting an exception",
      "protocol"},
     Defect::kApiErrorWithoutException},
    {{"api_view_outlives_object", "smallest breach of R38: a borrowed view is read after its object was let go",
      "use-after-delete"},
     Defect::kApiViewOutlivesObject},
    {{"api_keeps_stolen_tensor", "smallest breach of R39: a consumer deletes the tensor that it gave away", "double-delete"},
     Defect::kApiKeepsStolenTensor},
    {{"allocator_forgets_error", "smallest breach of R40: the allocator fails without calling SetError", "protocol"},
     Defect::kAllocatorForgetsError},
    {{"queue_loads_then_clears",
      "smallest breach of the deferred deleter: two threads empty the queue and both take what is in it", "address"},
     Defect::kQueueLoadsThenClears},
    {{"relaxed_queue", "smallest breach of the deferred deleter: the queue is published without release", "thread"},
     Defect::kRelaxedQueue},
    {{"strides_ignored", "jax-ml/jax#4196: strides are ignored on import", "wrong-value"}, Defect::kStridesIgnored},
    {{"read_only_written", "jax-ml/jax#19123: a consumer writes to an array that was exported as read-only", "protocol"},
     Defect::kReadOnlyWritten},
    {{"copied_flag_on_own_memory", "smallest breach of R24: the flag IS_COPIED on memory that the producer keeps", "protocol"},
     Defect::kCopiedFlagOnOwnMemory},
    {{"cached_capsule_unlocked",
      "smallest breach of publication: a producer caches its capsule, checks and sets it without a lock", "thread"},
     Defect::kCachedCapsuleUnlocked},
    {{"native_lock_attached", "numpy/numpy#28577: a native lock is waited for attached, so that the world cannot be stopped",
      "deadlock"},
     Defect::kNativeLockAttached},
    {{"major_ignored",
      "smallest breach of R14, and of R12: a consumer does not look at the version that it gets, be it the answer to its "
      "max_version",
      "protocol"},
     Defect::kMajorIgnored},
    {{"capsule_misnamed", "smallest breach of R6: a capsule's name is none of the specification's", "protocol"},
     Defect::kCapsuleMisnamed},
    {{"api_looked_up_on_object", "smallest breach of R36, after apache/tvm-ffi: a consumer asks the object for the exchange API",
      "protocol"},
     Defect::kApiLookedUpOnObject},
    {{"destructor_leaves_exception",
      "smallest breach of R11a, after NVIDIA/cudf#12921: the capsule's destructor leaves an exception behind", "protocol"},
     Defect::kDestructorLeavesException},
    {{"keywords_not_retried",
      "smallest breach of R25: a consumer takes the TypeError of a producer without keywords for a refusal", "protocol"},
     Defect::kKeywordsNotRetried},
    {{"missing_method_disguised",
      "smallest breach of R28: a consumer turns the AttributeError of an object without __dlpack__ into another error",
      "protocol"},
     Defect::kMissingMethodDisguised},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

}  // namespace

const Alphabet& Operations() { return kAlphabet; }
std::span<const Twin> Twins() { return kTwins; }
Defect DefectOf(int twin) { return handoff::DefectOf(kTwinTable, twin); }

}  // namespace handoff::dlpack::capsule
