#include "harness/subjects/cache/operations.h"

#include <array>
#include <string_view>

#include "harness/subjects/cache/buffer_records.h"
#include "harness/subjects/cache/owner.h"
#include "harness/subjects/cache/small_caches.h"

namespace handoff::cache {
namespace {

constexpr std::array<std::string_view, kForms> kFormNames = {"locked", "shared", "lock_free", "detached", "critical_section"};
constexpr Argument kTable{"table", kForms, kFormNames};
constexpr Argument kKey{"key", kKeys};
constexpr Argument kNeeds{"needs", kKeys};  // what the resolver looks up in the same table; the key itself: nothing
constexpr std::array<std::string_view, kResolvers> kResolverNames = {"returns", "waits", "collects", "exports"};
constexpr Argument kResolver{"resolver", kResolvers, kResolverNames};

constexpr std::array<std::string_view, 2> kOutcomeNames = {"module", "error"};
constexpr Argument kKeyword{"keyword", KeywordTable::kKeywords};
constexpr Argument kModule{"module", ImportCache::kModules};
constexpr Argument kNeedsModule{"needs", ImportCache::kModules};  // as above
constexpr Argument kOutcome{"outcome", kOutcomeNames.size(), kOutcomeNames};
constexpr Argument kFirst{"first", SmallCaches::kAllocators};
constexpr Argument kSecond{"second", SmallCaches::kAllocators};
constexpr Argument kThird{"third", SmallCaches::kAllocators};
constexpr Argument kNative{"native", WrapperMap::kNatives};
constexpr std::array<std::string_view, 2> kListNames = {"shared", "of_thread"};
constexpr Argument kList{"list", kListNames.size(), kListNames};
constexpr Argument kArray{"array", BufferArrays::kArrays};
constexpr Argument kLayout{"layout", BufferArrays::kLayouts};

const std::array<OperationKind, 20> kOperations = {{
    {"lookup", {kTable, kKey}, 2, 4},
    {"insert", {kTable, kKey}, 2, 2},
    {"insert_default", {kTable, kKey}, 2, 3},
    {"resolve", {kTable, kKey, kNeeds, kResolver}, 4, 6},
    {"replace", {kTable, kKey}, 2, 2},
    {"grow", {kTable}, 1, 1},
    {"drop", {kTable}, 1, 1},
    {"short_lived", {kTable, kKey}, 2, 1},
    {"call_loop", {kList}, 1, 2},
    {"parse", {kKeyword}, 1, 1},
    {"import", {kModule, kNeedsModule, kOutcome}, 3, 2},
    {"pack", {kFirst, kSecond, kThird}, 3, 2},
    {"fetch", {kNative}, 1, 2},
    {"drop_wrapper", {kNative}, 1, 2},
    {"collect", {}, 0, 2},
    {"export_buffer", {kArray, kLayout}, 2, 3},
    {"release_buffer", {kArray}, 1, 2},
    {"drop_array", {kArray}, 1, 1},
    {"exit_thread", {}, 0, 1},
    {"renew_key", {kKey}, 1, 2},
}};
const Alphabet kAlphabet = {kOperations};

}  // namespace

const Alphabet& CacheOperations() { return kAlphabet; }

}  // namespace handoff::cache
