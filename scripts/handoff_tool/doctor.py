"""`doctor`: what is there, what is missing, and whether the detectors are alive."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import interpreter, machine, packages, sources, toolchain
from handoff_tool.places import Cache

_RACE = """
#include <pthread.h>
int shared;
static void *add(void *) { for (int i = 0; i < 1000; ++i) ++shared; return nullptr; }
int main() {
  pthread_t one, two;
  pthread_create(&one, nullptr, add, nullptr); pthread_create(&two, nullptr, add, nullptr);
  pthread_join(one, nullptr); pthread_join(two, nullptr);
}
"""
_FREED = """
int main(int count, char **) { int *held = new int[4]; held[0] = count; delete[] held; return held[0]; }
"""
# Sanitizer, what is planted, its source, and what the report must say.
_PROBES = (
    ("thread", "a planted race", _RACE, "data race"),
    ("address", "a planted use-after-free", _FREED, "heap-use-after-free"),
)


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    found: str
    remedy: str = ""


def _packages() -> Check:
    lost = packages.missing()
    return Check("packages", not lost, f"missing: {', '.join(lost)}" if lost else "all there", "run 'scripts/handoff setup'")


def _compiler() -> Check:
    chain = toolchain.find()
    if chain is None:
        return Check(
            "compiler",
            False,
            f"no clang {toolchain.OLDEST} or newer",
            "run 'scripts/handoff setup', or set $CC and $CXX to a clang",
        )
    lost = [name for name in ("thread", "address", "fuzzer") if chain.runtime(name) is None]
    found = chain.version if not lost else f"{chain.version}, without the runtimes of: {', '.join(lost)}"
    return Check("compiler", not lost, found, f"install the sanitizer runtimes (Debian: libclang-rt-{chain.major}-dev)")


def _helpers() -> Check:
    chain = toolchain.find()
    lost = [name for name in ("llvm-symbolizer", "llvm-objcopy", "llvm-nm") if chain is None or chain.tool(name) is None]
    return Check(
        "LLVM tools",
        not lost,
        f"missing: {', '.join(lost)}" if lost else "symbolizer, objcopy, nm",
        "install the llvm package of the compiler's version",
    )


def _dlpack(cache: Cache) -> Check:
    include = sources.dlpack(cache)
    version = sources.header_version(include) if include else None
    return Check(
        "DLPack header",
        version is not None,
        "{}.{} in {}".format(*version, include) if version else "none",
        "run 'scripts/handoff setup'",
    )


def _pythons(cache: Cache) -> list[Check]:
    chain, tarball = toolchain.find(), sources.tarball(cache)
    checks = []
    for sanitizer in interpreter.SANITIZERS:
        folder = interpreter.folder(cache, tarball, sanitizer, chain.version) if chain and tarball else None
        ok = folder is not None and interpreter.manifest(folder).exists()
        checks.append(Check(f"CPython ({sanitizer})", ok, str(folder) if ok else "not built", "run 'scripts/handoff setup'"))
    return checks


def _randomisation() -> Check:
    bits, off = machine.random_bits(), bool(machine.without_randomisation())
    found = f"vm.mmap_rnd_bits = {bits if bits is not None else 'unknown'}; " + (
        "targets run under setarch -R" if off else "setarch -R is refused here"
    )
    # 28 is what TSan's shadow layout was made for; with more it re-executes itself, which needs personality() too.
    return Check(
        "address randomisation",
        off or (bits or 0) <= 28,
        found,
        "allow personality() in the container, or run 'sysctl -w vm.mmap_rnd_bits=28' as root on the host",
    )


def _address_space() -> Check:
    limited = machine.address_space_limited()
    found = "a hard RLIMIT_AS that cannot be raised" if limited else "unlimited RLIMIT_AS"
    return Check(
        "address space", not limited, found, "lift the hard limit ('ulimit -Hv unlimited' as root, or the service's LimitAS)"
    )


def _probe(sanitizer: str, what: str, source: str, expected: str) -> Check:
    name = f"detector ({sanitizer})"
    chain = toolchain.find()
    if chain is None:
        return Check(name, False, "no compiler to try it with", "run 'scripts/handoff setup'")
    with tempfile.TemporaryDirectory(prefix="handoff-doctor-") as folder:
        text, program = Path(folder) / "probe.cc", Path(folder) / "probe"
        text.write_text(source)
        built = subprocess.run(
            [chain.cxx, "-O1", "-g", f"-fsanitize={sanitizer}", "-pthread", text, "-o", program], capture_output=True, text=True
        )
        if built.returncode != 0:
            return Check(
                name,
                False,
                f"the probe does not build: {built.stderr.strip().splitlines()[-1:]}",
                "install the compiler's sanitizer runtimes",
            )
        try:
            ran = subprocess.run(
                [*machine.without_randomisation(), program],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=60,
                env={"PATH": os.environ.get("PATH", ""), "DEBUGINFOD_URLS": ""},
            )
        except subprocess.TimeoutExpired:
            return Check(name, False, "the probe hangs", "see 'address randomisation' and 'address space' above")
    alive = expected in ran.stderr and ran.returncode != 0
    first = next((line for line in ran.stderr.splitlines() if line.strip()), "it printed nothing")
    return Check(
        name,
        alive,
        f"reports {what}" if alive else f"does not report {what}: {first}",
        "see 'address randomisation' and 'address space' above",
    )


def examine(cache: Cache) -> list[Check]:
    single: list[Callable[[], Check]] = [_packages, _compiler, _helpers, lambda: _dlpack(cache)]
    return [
        *(check() for check in single),
        *_pythons(cache),
        _randomisation(),
        _address_space(),
        *(_probe(*probe) for probe in _PROBES),
    ]


def text(checks: list[Check]) -> str:
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{'ok     ' if check.ok else 'MISSING'}  {check.name:<{width}}  {check.found}")
        if not check.ok:
            lines.append(f"{'':9}{'':<{width}}  remedy: {check.remedy}")
    bad = sum(not check.ok for check in checks)
    return "\n".join([*lines, "", f"{bad} of {len(checks)} checks need attention." if bad else "Everything is in place."])
