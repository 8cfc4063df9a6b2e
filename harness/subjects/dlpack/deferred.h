// The deleter's design "deferred": a deleter that may not wait for a thread state queues its Python owner, and a thread that has
// one drops it later (jax does it so). Safe at any time and from any thread, finalisation included, where it leaks; the price is
// that memory stays until somebody drains.
#pragma once

#include "harness/python/embed.h"

namespace handoff::dlpack {

// Takes over the reference. Any thread, with or without a thread state; neither blocks nor calls Python.
void DropLater(PyObject* owner);
// Drops what is queued. An attached thread.
void DropQueued();

}  // namespace handoff::dlpack
