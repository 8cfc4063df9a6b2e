"""Builds the free-threaded CPython of one sanitizer into the cache, complete or not at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handoff_tool import children, machine
from handoff_tool.outcome import Failure
from handoff_tool.places import Cache
from handoff_tool.progress import Progress
from handoff_tool.toolchain import Toolchain

SANITIZERS = ("thread", "address")
RECIPE = 1  # raised whenever what is kept of a build changes

# Modules that pull in libraries of the system and that no subject needs: without them every machine builds the same interpreter.
_LEFT_OUT = (
    "_tkinter",
    "readline",
    "_curses",
    "_curses_panel",
    "_dbm",
    "_gdbm",
    "_sqlite3",
    "_ssl",
    "_hashlib",
    "_uuid",
    "_bz2",
    "_lzma",
)
_CONFIGURE = (
    "--disable-gil",
    "--disable-test-modules",
    "--without-ensurepip",
    "OPT=-O2",
    *(f"py_cv_module_{name}=n/a" for name in _LEFT_OUT),
)
# No coverage instrumentation (-fsanitize=fuzzer-no-link). Measured with dlpack_capsule under TSan, on a loaded machine with two cores:
# 505 executions/s with it, 1,073 without; four twins, three seeds each, were found after 545 executions with it (median), 843 without.
# So it finds in 0.65 of the executions at 0.47 of the speed, and the target grows from 21 to 29 MB.
_FLAGS = "-gline-tables-only -fno-omit-frame-pointer -ffile-compilation-dir=cpython"

_PER_SANITIZER: dict[str, tuple[tuple[str, ...], str]] = {
    "thread": (("--with-thread-sanitizer",), _FLAGS),
    # MI_TRACK_ASAN: without it ASan is blind to all memory that mimalloc hands out, Python objects included. Free lists would hide
    # what dies into them from mimalloc: lists, tuples, dicts, floats, slices, contexts. The other interpreter keeps them, as they
    # are what users run and their races are of interest. The two -mllvm flags turn every access into a call, which is where the
    # scheduler can step in.
    "address": (
        ("--with-address-sanitizer", "--without-pymalloc", "--without-freelists"),
        _FLAGS + " -DMI_TRACK_ASAN=1 -mllvm -asan-instrumentation-with-call-threshold=0 -mllvm -asan-opt=0",
    ),
}

# The allocator and the collector are no scheduling points: they make 97 % of the accesses and none that a subject could order.
_UNHOOKED = ["obmalloc.o", "gc_free_threading.o"]
_NO_LIBRARY = shutil.ignore_patterns(
    "test", "tests", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "__pycache__", "idle_test"
)
_ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "DEBUGINFOD_URLS": "", "PYTHONDONTWRITEBYTECODE": "1"}

# Asked of the new interpreter itself: what a program that embeds it must know.
_QUESTION = """
import json, sys, sysconfig
v = sysconfig.get_config_var
assert not sys._is_gil_enabled()
print(json.dumps({"version": sys.version.split()[0], "name": "python" + v("LDVERSION"),
                  "libs": (v("LIBS") + " " + v("SYSLIBS")).split(), "dynload": v("DESTSHARED")}))
"""


def key(source_hash: str, sanitizer: str, compiler: str) -> str:
    """Everything that shapes the result; the same key means the same interpreter."""
    arguments, flags = _PER_SANITIZER[sanitizer]
    text = json.dumps([RECIPE, source_hash, _CONFIGURE, arguments, flags, compiler])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hash_of(tarball: Path) -> str:
    return tarball.stem.removeprefix("cpython-")  # the name it was kept under


def folder(cache: Cache, tarball: Path, sanitizer: str, compiler: str) -> Path:
    return cache.folder / f"python-{sanitizer}-{key(_hash_of(tarball), sanitizer, compiler)}"


def manifest(python: Path) -> Path:
    return python / "handoff-python.json"


def build(cache: Cache, tarball: Path, sanitizer: str, chain: Toolchain, progress: Progress) -> Path:
    """Configures, compiles and keeps one interpreter. The caller holds the cache's lock."""
    final = folder(cache, tarball, sanitizer, chain.version)
    work = cache.folder / f"building-{sanitizer}-{os.getpid()}"
    log = f"python-{sanitizer}.log"
    shutil.rmtree(work, ignore_errors=True)
    try:
        source = work / "source"
        source.mkdir(parents=True)
        with progress.step(f"unpack and configure CPython ({sanitizer})", 45):
            progress.run("unpacking the CPython source", ["tar", "xf", tarball, "--strip-components=1", "-C", source], log=log)
            _configure(source, final, sanitizer, chain, progress, log)
        with progress.step(f"compile CPython ({sanitizer})", 110 / machine.cores() + 5):
            command = [*machine.without_randomisation(), "make", f"-j{machine.cores()}"]
            progress.run(
                f"building CPython for the {sanitizer} sanitizer", command, log=log, cwd=source, environment=_ENVIRONMENT
            )
        with progress.step(f"keep and check CPython ({sanitizer})", 30):
            kept = work / "kept"
            _keep(source, kept, sanitizer, _hash_of(tarball), chain.version, lambda *words: _ask(words, log))
            _compile_library(kept, progress, log)
            if final.exists():  # incomplete by some other hand: no manifest
                shutil.rmtree(final)
            kept.rename(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return final


def _configure(source: Path, prefix: Path, sanitizer: str, chain: Toolchain, progress: Progress, log: str) -> None:
    arguments, flags = _PER_SANITIZER[sanitizer]
    command: list[str | Path] = [
        *machine.without_randomisation(),
        source / "configure",
        f"--prefix={prefix}",
        *_CONFIGURE,
        *arguments,
        f"CFLAGS={flags}",
    ]
    # $LDFLAGS and the like of the caller would not be part of the key, so they are not let in.
    environment = {"CC": chain.cc, "CXX": chain.cxx, "CPPFLAGS": "", "LDFLAGS": "", "LIBS": "", **_ENVIRONMENT}
    progress.run("configuring CPython", command, log=log, cwd=source, environment=environment)


def _ask(words: tuple[str | Path, ...], log: str) -> str:
    command = [*machine.without_randomisation(), *map(str, words)]
    answer = children.call(command, capture_output=True, env=os.environ | _ENVIRONMENT)
    if answer.returncode != 0:
        raise Failure(
            f"The new interpreter does not run or has its GIL on (log of its build: {log}): {answer.stderr.strip()[-300:]}"
        )
    return answer.stdout


def _keep(source: Path, kept: Path, sanitizer: str, source_hash: str, compiler: str, ask: Callable[..., str]) -> None:
    """Lays out headers, library and archive as an installation does, but only what an embedding program needs."""
    facts: dict[str, Any] = json.loads(ask(source / "python", "-E", "-c", _QUESTION))
    name, library = facts["name"], Path("lib") / facts["name"]
    shutil.copytree(source / "Include", kept / "include" / name)
    shutil.copy2(source / "pyconfig.h", kept / "include" / name)
    shutil.copytree(source / "Lib", kept / library, ignore=_NO_LIBRARY)
    built = source / (source / "pybuilddir.txt").read_text().strip()
    (kept / library / "lib-dynload").mkdir()
    for module in built.glob("*.so"):
        shutil.copy2(module, kept / library / "lib-dynload")
    for data in built.glob("_sysconfigdata*.py"):
        shutil.copy2(data, kept / library)
    shutil.copy2(source / f"lib{name}.a", kept / "lib")
    (kept / "bin").mkdir()
    shutil.copy2(source / "python", kept / "bin" / name)
    shutil.copy2(source / "LICENSE", kept)
    manifest(kept).write_text(
        json.dumps(
            {
                "sanitizer": sanitizer,
                "version": facts["version"],
                "archive": f"lib/lib{name}.a",
                "include": f"include/{name}",
                "home": ".",
                "stdlib": str(library),
                "dynload": str(library / "lib-dynload"),
                "executable": f"bin/{name}",
                "libs": sorted({*facts["libs"], "-ldl", "-lm", "-lutil", "-lpthread"}),
                "unhooked_members": _UNHOOKED,
                "source_sha256": source_hash,
                "compiler": compiler,
            },
            indent=1,
        )
        + "\n"
    )


def _compile_library(kept: Path, progress: Progress, log: str) -> None:
    """Compiles the library ahead, never to be checked again: the folder may be read-only later, and a first run that writes
    caches would differ from the second."""
    facts = json.loads(manifest(kept).read_text())
    command = [
        *machine.without_randomisation(),
        kept / facts["executable"],
        "-I",
        "-S",
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
        "-s",
        str(kept),
        kept / facts["stdlib"],
    ]
    progress.run("compiling the standard library", command, log=log, environment=_ENVIRONMENT)
