"""Limits of this machine that decide whether ThreadSanitizer can run, and how the command lives with them."""

import functools
import os
import platform
import resource
import subprocess
from pathlib import Path


def cores() -> int:
    return len(os.sched_getaffinity(0))


def raise_address_space_limit() -> None:
    """TSan reserves terabytes of shadow memory, so a soft RLIMIT_AS is raised as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def address_space_limited() -> bool:
    return resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY


def random_bits() -> int | None:
    """How many address bits the kernel randomises; TSan's fixed shadow layout copes with 28 of them, not with 32."""
    try:
        return int(Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except (OSError, ValueError):
        return None


@functools.cache
def without_randomisation() -> tuple[str, ...]:
    """Command prefix that switches address randomisation off, empty where personality() is refused (many containers).

    Hash tables and caches keyed by address make a run depend on it, so every target runs under this prefix.
    """
    prefix = ("setarch", platform.machine(), "-R")
    try:
        refused = subprocess.run([*prefix, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except OSError:
        return ()
    return () if refused else prefix
