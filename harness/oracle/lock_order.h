// Whether locks are always taken in one order: a cycle is a deadlock that some schedule has, even if this run did not hang.
//
// A node is whatever a thread may hold and others wait for: a mutex, being attached to an interpreter, a once flag or the guard
// of a function's static variable while its initialiser runs, a thread's work that somebody joins. When a thread waits for a
// node, every node that it holds comes before that one; the orders of all threads together must have no cycle. (The wait-for
// order of Dijkstra's "Hierarchical ordering of sequential processes", 1971; with the interpreter as one more lock every deadlock
// between a GIL and a mutex is such a cycle.)
//
// Compiled without sanitizers and weak symbols, like the ledger. One graph a process; functions but Reset and NewNode: any thread
// that the scheduler lets run.
#pragma once

namespace handoff::lock_order {

inline constexpr int kMaxNodes = 32;
inline constexpr int kMaxThreads = 16;

// Forgets nodes, orders and who holds what. Before each execution.
void Reset();
// `name` is a literal, `number` tells nodes of one name apart. Returns the node.
int NewNode(const char* name, int number);

// Before the thread waits. Fails (kind "lock-order") if the order is now a cycle, or if the thread holds the node already.
void Waits(int thread, int node);
// It has it, and has it no more. A thread that takes a node without waiting (it began a piece of work that others join) says Got
// alone.
void Got(int thread, int node);
void Gave(int thread, int node);

}  // namespace handoff::lock_order
