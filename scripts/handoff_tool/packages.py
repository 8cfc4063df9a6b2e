"""The distribution's packages: what is missing, and installing it with apt."""

import os
import re
import shutil
import subprocess

from handoff_tool import toolchain
from handoff_tool.outcome import Failure
from handoff_tool.progress import Progress

# Package and what shows that it is there, so that other distributions are judged by the same list.
TOOLS = {
    "cmake": "cmake",
    "ninja-build": "ninja",
    "pkg-config": "pkg-config",
    "git": "git",
    "make": "make",
    "xz-utils": "xz",
    "gcc": "gcc",
    "g++": "g++",
    "ca-certificates": None,
    "libgtest-dev": None,
    "libgmock-dev": None,
    "libbenchmark-dev": None,
    "zlib1g-dev": None,
    "libffi-dev": None,
}


def debian() -> bool:
    return shutil.which("apt-get") is not None and shutil.which("dpkg-query") is not None


def clang_packages(major: int | str) -> list[str]:
    return [f"clang-{major}", f"libclang-rt-{major}-dev", f"llvm-{major}", f"clang-format-{major}", f"clang-tidy-{major}"]


def newest_clang() -> int | None:
    """The newest clang-N that apt offers; needs fresh package lists."""
    found = subprocess.run(["apt-cache", "search", "--names-only", "^clang-[0-9]+$"], capture_output=True, text=True).stdout
    numbers = [int(match) for match in re.findall(r"^clang-(\d+) ", found, re.M)]
    return max(numbers, default=None)


def installed(names: list[str]) -> set[str]:
    if not debian():
        return set()
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package}\n", *names], capture_output=True, text=True
    ).stdout
    return {line[3:].strip() for line in answer.splitlines() if line.startswith("ii")}


def missing() -> list[str]:
    """Debian package names; `clang` alone stands for the newest one with all its parts."""
    chain = toolchain.find()
    if not debian():
        lost = [package for package, tool in TOOLS.items() if tool and not shutil.which(tool)]
        return lost if chain else ["clang", *lost]
    wanted = list(TOOLS)
    if chain and installed([f"clang-{chain.major}"]):  # a clang of another origin brings its own parts; `doctor` proves them
        wanted += clang_packages(chain.major)
    have = installed(wanted)
    lost = [package for package in wanted if package not in have]
    return lost if chain else ["clang", *lost]


def _root(command: list[str]) -> list[str]:
    if os.geteuid() == 0:
        return command
    if shutil.which("sudo"):
        return ["sudo", *command]
    raise Failure(f"Packages are missing and neither root nor sudo is at hand; as root, run: {' '.join(command)}")


def update(progress: Progress) -> None:
    # Without Error-Mode apt-get says "success" for an unreachable mirror.
    command = _root(["apt-get", "-o", "APT::Update::Error-Mode=any", "update"])
    try:
        progress.run("apt-get update", command, log="packages.log")
    except Failure as failure:
        raise Failure(f"The distribution's package lists could not be refreshed (is the network up?): {failure}") from failure


def install(progress: Progress) -> None:
    lost = missing()
    if not debian():
        raise Failure(f"This system has no apt; install these by hand (Debian names): {', '.join(lost)}.")
    if "clang" in lost:
        lost.remove("clang")
        newest = newest_clang()
        if newest is None or newest < toolchain.OLDEST:
            raise Failure(
                f"The distribution has no clang {toolchain.OLDEST} or newer (newest: {newest}); install one and set CC and CXX."
            )
        lost += clang_packages(newest)
    command = _root(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends", *lost])
    progress.run("apt-get install", command, log="packages.log")
    toolchain.find.cache_clear()
