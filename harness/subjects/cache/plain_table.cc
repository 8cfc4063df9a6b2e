#include "harness/subjects/cache/plain_table.h"

#include "harness/subjects/cache/defect.h"

namespace handoff::cache {

// Before every insertion, even if the key turns out to be there.
void PlainTable::MakeRoom() {
  if (IsHalfFull(*block_)) block_.reset(Copy(*block_, block_->size * 2));
}

const Implementation* PlainTable::SetDefault(const Key& key, const Implementation* value) {
  MakeRoom();
  const Place place = Probe(*block_, key, &LoadPlainly, 0);
  if (place.value != nullptr) return place.value;
  *place.bucket = {value, key};
  ++block_->used;
  return value;
}

const Implementation* PlainTable::Replace(const Key& key, const Implementation* value) {
  MakeRoom();
  const Place place = Probe(*block_, key, &LoadPlainly, 0);
  *place.bucket = {value, key};
  if (place.value == nullptr || Has(Defect::kReplaceCountsTwice)) ++block_->used;
  return place.value;
}

void PlainTable::Grow() {
  if (block_->size < kMaxSize) block_.reset(Copy(*block_, block_->size * 2));
}

}  // namespace handoff::cache
