// A second stack for the handler of a fault, so that a thread which has used up its own can still say so. AddressSanitizer gives
// one to each thread, ThreadSanitizer to the main thread only.
#pragma once

namespace handoff::schedule {

// Gives the calling thread a second stack unless it has one: AddressSanitizer unmaps what it finds there when the thread ends.
// The stacks are static, one for each `number` of a controlled thread (a thread that has given up its number runs a few last
// instructions of libc beside the next one of that number), and -1 for the main thread.
void EnsureSignalStack(int number);

}  // namespace handoff::schedule
