// What the module of canary_module_race exports. Looked up by name with dlsym; any thread may call `racy_module_add`.
#pragma once

extern "C" {
// Starts a new execution: the counter is zero again. Driver only.
void racy_module_reset();
// Increments the counter; `locked` takes the module's mutex for it.
void racy_module_add(bool locked);
// The counter. Driver only.
int racy_module_count();
}
