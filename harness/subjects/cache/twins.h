// The twins of the caches: what each is called, which public issue it puts back, who is expected to notice.
#pragma once

#include <span>

#include "harness/subjects/cache/defect.h"
#include "harness/subjects/subject.h"

namespace handoff::cache {

std::span<const Twin> CacheTwins();
// `twin` as in Target::make.
Defect CacheDefect(int twin);

}  // namespace handoff::cache
