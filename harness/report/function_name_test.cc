#include "harness/report/function_name.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace handoff {
namespace {

TEST(FunctionName, KeepsTheNameAndDropsTypesAndArguments) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"main", "main"},
      {"PyCapsule_GetName", "PyCapsule_GetName"},
      {"Poke(S*, int)", "Poke"},
      {"handoff::dlpack::Capsule<long>::Read() const", "handoff::dlpack::Capsule::Read"},
      {"void ns::F<int, ns::G<long>>::H<(ns::E)1>(long) const &", "ns::F::H"},
      {"std::__invoke_result<main::$_1>::type std::__invoke<main::$_1>(main::$_1&&)", "std::__invoke"},
      {"D::~D()", "D::~D"},
      {"(anonymous namespace)::Drop(void*)", "(anonymous namespace)::Drop"},
      {"int a::(anonymous namespace)::Take<a::(anonymous namespace)::T>(int)", "a::(anonymous namespace)::Take"},
      {"Consume(int) [clone .cold]", "Consume"},
      {"consume.part.0", "consume"},
      {"main::$_0::operator()() const", "main::$_0::operator()"},
      {"Start()::'lambda'(int)::operator()(int) const", "Start::'lambda'::operator()"},
      {"operator delete(void*, unsigned long)", "operator delete"},
      {"operator new[](unsigned long)", "operator new[]"},
      {"S& S::operator=(S const&)", "S::operator="},
      {"bool ns::operator<< <int>(ns::A<int> const&)", "ns::operator<<"},
      {"T::operator->() const", "T::operator->"},
      {"T::operator bool() const", "T::operator bool"},
      {"cooperator_run(int)", "cooperator_run"},
      {"F<&(A::operator->)>::Run()", "F::Run"},
      {"", ""},
      {"unclosed<int(", "unclosed"},
  };
  for (const auto& [demangled, plain] : names) EXPECT_EQ(PlainFunctionName(demangled), plain) << demangled;
}

TEST(FunctionName, RuntimesLibrariesAndTheHarnessArePlumbing) {
  for (const char* name :
       {"", "__tsan_memcpy", "free", "operator delete", "memset", "std::thread::_Invoker::operator()", "pthread_create",
        "handoff_sync_point", "handoff::schedule::Point", "_Py_atomic_load_ptr", "PyMem_Free"}) {
    EXPECT_TRUE(IsPlumbing(name)) << name;
  }
  for (const char* name : {"handoff::dlpack::Capsule::Read", "main", "PyCapsule_GetName", "freeze", "Consume", "handoffs::F"}) {
    EXPECT_FALSE(IsPlumbing(name)) << name;
  }
  EXPECT_TRUE(IsPlumbingModule("libc.so.6"));
  EXPECT_FALSE(IsPlumbingModule("libconsumer.so"));
}

TEST(FunctionName, ReleasesOfEveryAllocatorAreFrees) {
  for (const char* name :
       {"free", "__interceptor_free", "operator delete[]", "PyObject_Free", "mi_free_block_local", "_PyMem_MiFree"}) {
    EXPECT_TRUE(IsFree(name)) << name;
  }
  EXPECT_FALSE(IsFree("freeze"));
  EXPECT_FALSE(IsFree("malloc"));
}

TEST(FunctionName, WhatPausesAThreadIsPlumbing) {
  for (const char* name : {"syscall", "pause", "sched_yield", "usleep", "asan_thread_start"})
    EXPECT_TRUE(IsPlumbing(name)) << name;
}

TEST(FunctionName, OraclesArePlumbing) {
  for (const char* name : {"handoff::oracle::Fail", "handoff::ledger::Deleted", "handoff::cache::watch::Read"}) {
    EXPECT_TRUE(IsPlumbing(name)) << name;
  }
  EXPECT_FALSE(IsPlumbing("handoff::cache::NativeCache::Apply"));
}

TEST(FunctionName, CPythonsLocksOnlyWait) {
  for (const char* name : {"_PySemaphore_Wait", "PyMutex_Lock", "_PyCriticalSection_BeginSlow", "tstate_wait_attach"}) {
    EXPECT_TRUE(IsWaiting(name)) << name;
  }
  for (const char* name : {"stop_the_world", "PyDict_SetItem", "handoff::cache::Table::Lookup"})
    EXPECT_FALSE(IsWaiting(name)) << name;
}

}  // namespace
}  // namespace handoff
