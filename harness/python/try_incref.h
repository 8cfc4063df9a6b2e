// A new reference to an object whose last one may be gone, for whoever keeps the object's memory: by a lock that its dealloc
// takes.
//
// Public since CPython 3.14, as PyUnstable_TryIncRef and PyUnstable_EnableTryIncRef (python/cpython#128844). Before, bindings
// carry a copy of what CPython has for itself (nanobind's nb_try_inc_ref, wjakob/nanobind#865; pybind/pybind11#5494); so do we.
#pragma once

#include "harness/python/embed.h"

namespace handoff::python {

#if PY_VERSION_HEX >= 0x030E0000

inline void EnableTryIncref(PyObject* object) { PyUnstable_EnableTryIncRef(object); }
inline bool TryIncref(PyObject* object) { return PyUnstable_TryIncRef(object) != 0; }

#else

// Before the object is seen by other threads: without it TryIncref fails while only its owner, another thread, has references.
inline void EnableTryIncref(PyObject* object) {
  Py_ssize_t shared = _Py_atomic_load_ssize_relaxed(&object->ob_ref_shared);
  while ((shared & _Py_REF_SHARED_FLAG_MASK) == 0) {
    if (_Py_atomic_compare_exchange_ssize(&object->ob_ref_shared, &shared, shared | _Py_REF_MAYBE_WEAKREF) != 0) return;
  }
}

// Attached. Whether it was got.
inline bool TryIncref(PyObject* object) {
  if (_Py_IsOwnedByCurrentThread(object) != 0) {  // then it lives, and the local count is this thread's to change
    const uint32_t local = _Py_atomic_load_uint32_relaxed(&object->ob_ref_local);
    _Py_atomic_store_uint32_relaxed(&object->ob_ref_local, local + 1);
    return true;
  }
  Py_ssize_t shared = _Py_atomic_load_ssize_relaxed(&object->ob_ref_shared);
  // Zero: its owner may be ending it, which nobody would notice. Merged, and zero: nobody has a reference.
  while (shared != 0 && shared != _Py_REF_MERGED) {
    const Py_ssize_t more = shared + (1 << _Py_REF_SHARED_SHIFT);
    if (_Py_atomic_compare_exchange_ssize(&object->ob_ref_shared, &shared, more) != 0) return true;
  }
  return false;
}

#endif

}  // namespace handoff::python
