// The objects whose addresses are the keys: who refers to them, and whether an address belongs to another object by now.
//
// A table compares addresses. Were an object to end while its address is in a table, the next one there would be answered with
// what was made for the first (invariant 9). This is the model of those reference counts; not instrumented, since an
// interpreter's counts order nobody either as long as none comes to zero. Keys are those of block.h, at most watch::kMaxKeys.
// Reset and Judge: the driver; the others: any thread, at any time.
#pragma once

namespace handoff::cache::key_objects {

void Reset();

// Refers to the object that has the address, and keeps it from ending. Returns its number among those that have had it.
int Retain(int key);
void Release(int key);
// The number of the object that has the address; it may end as soon as nobody refers to it.
int Current(int key);
// The object ends and another one gets the address. Does nothing while somebody refers to it.
void Renew(int key);

// At the end: fails if somebody still refers to an object.
void Judge();

}  // namespace handoff::cache::key_objects
