#include "harness/subjects/interpreter/defect.h"

namespace handoff::interpreter {
namespace {

// Written before there is a second thread.
Defect installed = Defect::kNone;

}  // namespace

void Install(Defect defect) { installed = defect; }

bool Has(Defect defect) { return installed == defect; }

}  // namespace handoff::interpreter
