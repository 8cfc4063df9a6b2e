"""`build`: configures and compiles one preset with what set-up found."""

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import interpreter, machine, places, setup
from handoff_tool.outcome import Failure, choose
from handoff_tool.places import ROOT, Cache
from handoff_tool.progress import Progress

PLAIN = ("plain", "gcc")  # no sanitizer: unit tests with clang, and with GCC
FUZZ = "fuzz/all"  # CMake's name for whatever the folder fuzz/ defines, without the unit tests
COVERAGE = "coverage"  # AddressSanitizer, and counters for the lines of the subjects
PRESETS = (*interpreter.SANITIZERS, *PLAIN, COVERAGE)


def folder(preset: str) -> Path:
    return ROOT / "build" / preset


def binary(target: str, preset: str) -> Path:
    return folder(preset) / "fuzz" / target


@dataclass(frozen=True)
class Built:
    preset: str
    folder: Path


def definitions(parts: setup.Parts, preset: str) -> dict[str, str]:
    """What a preset cannot know: the tools and the interpreter of this machine."""
    # Paths with the major version in them, as whatever `clang` means may change while a build folder lives on.
    compilers = ("gcc", "g++") if preset == "gcc" else (parts.chain.cc, parts.chain.cxx)
    chosen = {"CMAKE_C_COMPILER": compilers[0], "CMAKE_CXX_COMPILER": compilers[1], "HANDOFF_DLPACK_INCLUDE": str(parts.dlpack)}
    sanitizer = "address" if preset == COVERAGE else preset
    if sanitizer in parts.manifests:
        chosen["HANDOFF_PYTHON_MANIFEST"] = str(parts.manifests[sanitizer])
    if objcopy := parts.chain.tool("llvm-objcopy"):
        chosen["HANDOFF_OBJCOPY"] = objcopy
    return chosen


def build(cache: Cache, preset: str, targets: list[str], progress: Progress | None = None) -> Built:
    """Sets up what is missing, configures when needed, compiles. Without `progress` the caller shows its own."""
    runner = Progress(1, cache.logs)
    parts = setup.ensure(cache)
    where = folder(preset)
    command = [
        "cmake",
        "--preset",
        preset,
        "-S",
        str(ROOT),
        *(f"-D{name}={value}" for name, value in definitions(parts, preset).items()),
    ]
    stamp = where / "handoff-configured.json"
    wanted = json.dumps(
        [command, {name: os.environ.get(name) for name in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "LIB_FUZZING_ENGINE", "OUT")}]
    )
    log = f"build-{preset}.log"
    step = progress.step(f"build {what(targets)} ({preset})", seconds(preset, targets)) if progress else contextlib.nullcontext()
    with step, places.exclusive(where / "handoff.lock", f"Another build is using {where}; waiting for it."):
        (cache.logs / log).unlink(missing_ok=True)
        try:
            configured = stamp.exists() and stamp.read_text() == wanted and (where / "build.ninja").exists()
            if not configured or not set(targets) <= {FUZZ, *executables(where)}:  # a target may be newer than the build folder
                runner.run(f"configuring build/{preset}", command, log=log, cwd=ROOT)
                stamp.write_text(wanted)
            words = ["cmake", "--build", str(where), "-j", str(machine.cores())]
            for target in targets:
                words += ["--target", choose("build target", target, [FUZZ, *executables(where)])]
            runner.run(f"building build/{preset}", words, log=log, cwd=ROOT)
        except Failure as failure:
            raise Failure(f"{failure}{_first_error(cache.logs / log)}") from failure
    return Built(preset, where)


def what(targets: list[str]) -> str:
    return "all targets" if targets == [FUZZ] else ", ".join(targets) or "all targets and the unit tests"


def seconds(preset: str, targets: list[str]) -> float | None:
    """About how long two idle cores take from an empty folder on. Of one that has been built in nobody knows what has changed."""
    if (folder(preset) / ".ninja_log").exists():
        return None
    return 120 if targets == [FUZZ] else 30 + 5 * len(targets) if targets else 180


def _first_error(log: Path) -> str:
    """The compiler's first complaint, which is nearly always the one to read."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    for number, line in enumerate(lines):
        if " error: " in line:
            return f"\n{line}"
        if line.startswith("CMake Error"):
            return "\n" + "\n".join(lines[number : number + 4]).rstrip()
    return ""


def executables(where: Path) -> list[str]:
    """Names of all programs that a configured build folder can make."""
    answer = subprocess.run(["ninja", "-C", str(where), "-t", "targets", "all"], capture_output=True, text=True).stdout
    return sorted({line.partition(":")[0].rpartition("/")[2] for line in answer.splitlines() if "EXECUTABLE_LINKER" in line})
