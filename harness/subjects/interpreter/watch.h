// The oracle for native objects and their wrappers: who exists, which wrapper is a native object's own, and what the native side
// owns.
//
// Not instrumented: it orders nothing, and none of its accesses is a point. Natives and wrappers have numbers, natives from 1,
// wrappers from 1; a number is never given out twice in an execution. Functions but Reset, Outstanding and Judge: any thread, at
// any time.
#pragma once

#include <cstdint>

namespace handoff::interpreter::watch {

// An operation makes one native or one wrapper at most; two designs make one of each at the start.
inline constexpr int kMaxNatives = 128;
inline constexpr int kMaxWrappers = 256;

void Reset();

// A native object was made; returns its number. The end of one: fails if it ends twice, or while its wrapper is alive and counted
// as the native object's own.
int NativeMade();
void NativeGone(int native);

// A wrapper was made for `native`; returns its number.
int WrapperMade(int native);
// It became the native object's own wrapper. Fails if there is another one already (C4, T3). The moment of the exchange itself
// cannot be caught, so somebody may be handed the wrapper before its maker says this.
void WrapperPublished(int wrapper);
// It is handed to a caller who asked for the native object's wrapper. Fails if that has another one (C4).
void WrapperReturned(int native, int wrapper);
// The same for a caller who wanted one of his own (hermetic mode): fails if it is the native object's.
void HermeticReturned(int native, int wrapper);
// Somebody took a reference to it for the sake of a weak one to `native`. Fails if it is another one's (C4).
void WrapperTaken(int native, int wrapper);
// Its dealloc begins, while the native object's strong count is `strong`. Fails unless that is the wrapper's own (C3).
void DeallocBegins(int wrapper, std::uint64_t strong);
// The slot does not lead to it any more.
void WrapperWithdrawn(int wrapper);
// It is freed. Fails if it was already, or if a slot still leads to it (O4, C2).
void WrapperGone(int wrapper);

// The native side took (+1) or gave back (-1) a reference of its own to the native object's wrapper. In between it may be any
// number, since whoever has to give one back may be faster than whoever has to take it. NativeGone fails unless they are even
// (C6).
void NativeOwns(int native, int change);
// How many it has. While nobody is in the middle of a call.
int OwnedByNative(int native);

// A weak reference was found expired although somebody held the native object strongly all the time (C5).
[[noreturn]] void WronglyExpired(int native);

// A lookup did not find the native object's wrapper, although it was there and somebody held the object strongly all the time
// (C7).
[[noreturn]] void WronglyNotFound(int native);

// A way out of the process's code that was unloaded (D1): `Unloaded` marks it, `CodeCalled` fails afterwards.
void Unloaded(int interpreter);
void CodeCalled(int interpreter);
// A call into that code left the thread attached elsewhere than it was (D4).
[[noreturn]] void LeftElsewhere(int interpreter);
// A wrapper whose last reference cannot be dropped any more, since its interpreter's code is gone (D3): it is left behind, once.
void WrapperLeaked(int wrapper);

// What stands for a native object or a wrapper at scheduling points: not their addresses, which differ from run to run.
const void* NativeToken(int native);
const void* WrapperToken(int wrapper);

// Whether anything is left that was not leaked.
bool Outstanding();
// At the end, when everything was dropped: natives and wrappers are gone, each wrapper that is left was leaked by WrapperLeaked.
void Judge();

}  // namespace handoff::interpreter::watch
