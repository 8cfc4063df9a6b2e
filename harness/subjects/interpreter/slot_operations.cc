#include "harness/subjects/interpreter/slot_operations.h"

#include <array>
#include <string_view>

#include "harness/subjects/twins.h"

namespace handoff::interpreter::slot {
namespace {

constexpr std::array<std::string_view, kDesigns> kDesignNames = {"tag", "count_gil", "count_free", "tied", "count_reuse"};
constexpr std::array<std::string_view, kHows> kHowNames = {"copied", "moved", "hermetic"};
constexpr Argument kDesign{"design", kDesigns, kDesignNames};
constexpr Argument kHow{"how", kHows, kHowNames};
constexpr Argument kInterpreter{"interpreter", 2};  // of the tag's two; the others have one

const std::array<OperationKind, 15> kOperations = {{
    {"new", {kDesign, kInterpreter}, 2, 1},
    {"wrap", {kDesign, kHow, kInterpreter}, 3, 5},
    {"unwrap", {kDesign}, 1, 2},
    {"copy", {kDesign}, 1, 2},
    {"drop", {kDesign, kInterpreter}, 2, 4},
    {"drop_wrapper", {kDesign}, 1, 4},
    {"weak", {kDesign}, 1, 1},
    {"lock", {kDesign}, 1, 3},
    {"give", {kDesign}, 1, 2},
    {"take", {kDesign}, 1, 2},
    {"pass", {kDesign}, 1, 2},
    {"receive", {kDesign, kInterpreter}, 2, 2},
    {"collect", {kDesign, kInterpreter}, 2, 1},
    {"disarm", {kInterpreter}, 1, 1},
    {"discard", {kDesign}, 1, 1},
}};
const Alphabet kAlphabet = {kOperations};

constexpr std::array<TwinOf<Defect>, 29> kTwinTable = {{
    {{"flag_before_incref", "smallest breach of C1: the flag can be seen before the reference is taken that it calls for",
      "protocol"},
     Defect::kFlagBeforeIncref},
    {{"no_undo", "smallest breach of C6: a reference taken for others' sake is kept although they went", "missing-delete"},
     Defect::kNoUndo},
    {{"lock_counts_first", "the first weak lock of pytorch/pytorch#167564: it counts up, then takes a wrapper that may be going",
      "protocol"},
     Defect::kLockCountsFirst},
    {{"incref_for_try_incref", "wjakob/nanobind#864: a lookup takes a reference to a wrapper whose last one is gone", "address"},
     Defect::kIncrefForTryIncref},
    {{"try_incref_unpinned", "smallest breach of PEP 703's rule: a conditional incref of a wrapper that may be freed", "address"},
     Defect::kTryIncrefUnpinned},
    {{"slot_not_cleared", "smallest breach of C2: the slot leads to a wrapper that was freed", "delete-while-held"},
     Defect::kSlotNotCleared},
    {{"loser_drops_first",
      "smallest breach of C8: the loser of a race drops what keeps the winner's wrapper alive, then takes that one", "address"},
     Defect::kLoserDropsFirst},
    {{"slot_checked_then_stored", "pytorch/pytorch#179767: two threads find no wrapper and both store one", "protocol"},
     Defect::kSlotCheckedThenStored},
    {{"flag_in_word_of_its_own", "smallest breach of C1: flag and count are seen at two moments", "protocol"},
     Defect::kFlagInWordOfItsOwn},
    {{"copy_without_incref", "smallest breach of C3: a copy from the wrapper's own reference does not keep the wrapper",
      "protocol"},
     Defect::kCopyWithoutIncref},
    {{"tag_checked_then_stored", "pytorch/pytorch#57756: two interpreters find no tag and both store theirs", "protocol"},
     Defect::kTagCheckedThenStored},
    {{"tag_overwritten", "pytorch/pytorch#64548: a caller is wrongly sure that the object is new, and its wrapper is lost",
      "protocol"},
     Defect::kTagOverwritten},
    {{"tag_ignored", "pytorch/pytorch#58238: an interpreter is handed another one's wrapper", "no-thread-state"},
     Defect::kTagIgnored},
    {{"no_resurrection", "pytorch/pytorch#75932: a wrapper ends although the native object is still held", "protocol"},
     Defect::kNoResurrection},
    {{"flip_after_drop", "smallest breach of O5: the reference is dropped before the native object owns the wrapper",
      "delete-while-held"},
     Defect::kFlipAfterDrop},
    {{"slot_keeps_dead_wrapper", "smallest breach of O4: the slot leads to a wrapper that was freed", "delete-while-held"},
     Defect::kSlotKeepsDeadWrapper},
    {{"hermetic_wrapper_stored", "smallest breach of hermetic mode: a caller's own wrapper goes into the slot", "wrong-value"},
     Defect::kHermeticWrapperStored},
    {{"release_unattached", "numpy/numpy#22507: the native side drops its reference without a thread state", "no-thread-state"},
     Defect::kReleaseUnattached},
    {{"release_in_wrong_interpreter", "pybind/pybind11#5965: some interpreter is attached, but not the wrapper's",
      "no-thread-state"},
     Defect::kReleaseInWrongInterpreter},
    {{"without_gil", "pytorch/pytorch#169136: the tag's design in an interpreter without a GIL", "thread"}, Defect::kWithoutGil},
    {{"disarm_without_waiting", "pytorch's disarm(): code is unloaded while calls are under way", "use-after-delete"},
     Defect::kDisarmWithoutWaiting},
    {{"relaxed_disarm", "smallest breach of D2: calls are counted, but order nothing", "thread"}, Defect::kRelaxedDisarm},
    {{"tied_without_lock", "smallest breach of the tied word: it is read and written without its lock", "protocol"},
     Defect::kTiedWithoutLock},
    {{"tied_incref", "wjakob/nanobind#864 in the tied word: a reference is taken from a wrapper whose last one is gone",
      "double-delete"},
     Defect::kTiedIncref},
    {{"revived_without_strong", "smallest breach of the tied word: a revived wrapper does not keep its native object alive",
      "address"},
     Defect::kRevivedWithoutStrong},
    {{"pointers_read_one_by_one",
      "pytorch's disarm() before pytorch/pytorch#84657: a call meets functions of which some are overwritten", "protocol"},
     Defect::kPointersReadOneByOne},
    {{"plain_pointers", "pytorch's disarm(): the pointers to the functions are no atomics", "thread"}, Defect::kPlainPointers},
    {{"slot_not_loaded_again",
      "smallest breach of PEP 703's rule for readers without a lock: memory that was used again gives a weak lock a stranger",
      "wrong-value"},
     Defect::kSlotNotLoadedAgain},
    {{"slot_read_before_allocation",
      "smallest breach of T4: the allocation of a wrapper collects and lets others in, and overwrites the wrapper that they made",
      "protocol"},
     Defect::kSlotReadBeforeAllocation},
}};

constexpr auto kTwins = TwinsOf(kTwinTable);

}  // namespace

const Alphabet& Operations() { return kAlphabet; }
std::span<const Twin> Twins() { return kTwins; }
Defect DefectOf(int twin) { return handoff::DefectOf(kTwinTable, twin); }

}  // namespace handoff::interpreter::slot
