"""Finds the newest usable clang with its runtimes and helpers."""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from handoff_tool.outcome import Failure

OLDEST = 18  # the first whose libFuzzer and sanitizer runtimes were seen to work with free-threaded CPython's own tests


@dataclass(frozen=True)
class Toolchain:
    cc: str
    cxx: str
    version: str  # first line of `clang --version`: part of every cache key
    major: int

    def tool(self, name: str) -> str | None:
        """An LLVM helper of the same version: beside the compiler, with the version as suffix, else plain."""
        beside = Path(os.path.realpath(self.cc)).parent / name
        return str(beside) if beside.exists() else shutil.which(f"{name}-{self.major}") or shutil.which(name)

    def runtime(self, sanitizer: str) -> Path | None:
        """The sanitizer's runtime archive; clang is asked, as distributions differ in the layout."""
        short = {"thread": "tsan", "address": "asan", "fuzzer": "fuzzer"}[sanitizer]
        for name in (f"libclang_rt.{short}-{os.uname().machine}.a", f"libclang_rt.{short}.a"):
            answer = subprocess.run([self.cc, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
            if os.path.isabs(answer) and os.path.exists(answer):
                return Path(answer)
        resource = subprocess.run([self.cc, "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
        found = sorted(Path(resource).glob(f"lib/*/libclang_rt.{short}-{os.uname().machine}.a")) + sorted(
            Path(resource).glob(f"lib/*/libclang_rt.{short}.a")
        )
        return found[0] if found else None


def _inspect(cc: str) -> Toolchain | None:
    cxx = re.sub(r"clang(?=(-\d+)?$)", "clang++", cc)
    path, path_cxx = shutil.which(cc), shutil.which(cxx)
    if not path or not path_cxx:
        return None
    first = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
    number = re.search(r"clang version (\d+)", first)
    if not number or int(number[1]) < OLDEST:
        return None
    return Toolchain(path, path_cxx, first, int(number[1]))


@functools.cache
def find() -> Toolchain | None:
    """$CC when it is a clang (build services set it), else the newest clang-N on PATH, else plain clang."""
    if "clang" in os.path.basename(os.environ.get("CC", "")):
        return _inspect(os.environ["CC"])
    numbers = {
        int(match[1])
        for folder in os.get_exec_path()
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if (match := re.fullmatch(r"clang-(\d+)", name))
    }
    for number in sorted(numbers, reverse=True):
        if chain := _inspect(f"clang-{number}"):
            return chain
    return _inspect("clang")


def require() -> Toolchain:
    chain = find()
    if chain is None:
        raise Failure(f"No clang {OLDEST} or newer was found; run 'scripts/handoff setup', or put one on PATH (or in $CC).")
    return chain
