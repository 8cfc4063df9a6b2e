#include "harness/subjects/cache/python_defect.h"

namespace handoff::cache::cpython {
namespace {

// Written before there is a second thread.
Defect installed = Defect::kNone;

}  // namespace

void Install(Defect defect) { installed = defect; }

bool Has(Defect defect) { return installed == defect; }

}  // namespace handoff::cache::cpython
