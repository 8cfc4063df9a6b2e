// A dispatch table as one thread would use it. Whoever shares it protects every call: with a lock, or in a critical section.
#pragma once

#include <memory>

#include "harness/subjects/cache/block.h"

namespace handoff::cache {

class PlainTable {
 public:
  // As in DispatchTable.
  const Implementation* Get(const Key& key) const { return Probe(*block_, key, &LoadPlainly, 0).value; }
  const Implementation* SetDefault(const Key& key, const Implementation* value);
  const Implementation* Replace(const Key& key, const Implementation* value);
  void Grow();
  void Check() const { CheckBlocks(*block_); }

 private:
  void MakeRoom();

  std::unique_ptr<Block> block_ = std::make_unique<Block>(kFirstSize);
};

}  // namespace handoff::cache
