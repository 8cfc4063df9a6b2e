// The one thing a subject knows of the scheduler: a place where it may switch threads.
#pragma once

extern "C" {
// A `sync` point: call it right before a lock, a wait, an atomic operation, an allocation or a free, a reference count that may
// reach zero, a capsule call or a deleter call. `object` is what the next step touches (may be null; only its identity is used,
// as a small number in order of first appearance); `what` is a string literal for the trace. Any thread; does nothing on a thread
// that is not controlled, and makes no happens-before edge.
void handoff_sync_point(const void* object, const char* what);
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a macro, so that a build without the harness can define it away.
#ifndef HANDOFF_SYNC_POINT
#define HANDOFF_SYNC_POINT(object, what) ::handoff_sync_point((object), (what))
#endif
