"""`coverage`: which lines of the subjects the committed corpus reaches.

Each target replays its cases (seed/ and regression/), one after another, each in a fresh fork of a process that never had a
second thread: the same run every time, and the way in which every finding is confirmed. The build (preset `coverage`:
AddressSanitizer) counts in a file that all forks share, so nothing is lost when a child leaves by _exit. The counters are memory
accesses too, so at `access` points a schedule may take another way than in a build without them.

Counted is the code under harness/subjects/, headers included, without tests, the canaries and the example. A twin's own lines
are left out on both sides of the fraction; twin_lines.py tells them from the source.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handoff_tool import builds, process, targets, toolchain
from handoff_tool.outcome import CLEAN, Failure
from handoff_tool.places import ROOT
from handoff_tool.replay import LIMIT
from handoff_tool.table import render
from handoff_tool.twin_lines import twin_lines

PLACE = "harness/subjects"
_LEFT_OUT = ("canary", "example")


@dataclass(frozen=True)
class File:
    path: str  # from the root of the checkout
    runs: dict[int, int]  # how often each line that holds code ran, a twin's own lines left out
    twins: int  # how many lines were left out

    @property
    def missed(self) -> list[int]:
        return sorted(line for line, count in self.runs.items() if count == 0)

    @property
    def covered(self) -> int:
        return len(self.runs) - len(self.missed)


def default_targets() -> list[str]:
    return [name for name in targets.declared() if not name.startswith("canary_")]


def measure(names: list[str]) -> list[File]:
    chain = toolchain.require()
    tools = {name: chain.tool(name) for name in ("llvm-profdata", "llvm-cov")}
    for name, path in tools.items():
        if path is None:
            raise Failure(f"Expected {name} beside {chain.cc}, found none: install the package llvm-{chain.major}.")
    binaries = [builds.binary(name, builds.COVERAGE) for name in names]
    with tempfile.TemporaryDirectory(prefix="handoff-coverage-") as name:
        folder = Path(name)
        for target, binary in zip(names, binaries, strict=True):
            _replay(target, binary, folder)
        profile = folder / "all.profdata"
        _answer(tools["llvm-profdata"], "merge", "-o", profile, *sorted(folder.glob("*.profraw")))
        objects = [word for binary in binaries[1:] for word in ("-object", binary)]
        report = _answer(tools["llvm-cov"], "export", "-format=lcov", f"-instr-profile={profile}", binaries[0], *objects)
    return files(report)


def _replay(target: str, binary: Path, folder: Path) -> None:
    corpus = targets.CORPUS / target
    cases = sorted(path for kind in ("seed", "regression") for path in (corpus / kind).glob("*") if path.is_file())
    if not cases:
        raise Failure(f"Expected cases of {target} in {corpus}/seed, found none: write one, or name other targets.")
    # %c: the counters lie in the file. %p: one file a process, since a target may start itself again.
    environment = {"LLVM_PROFILE_FILE": f"{folder}/{target}-%c%p.profraw"}
    words = ["-runs=1", f"-artifact_prefix={folder}/", *cases]
    code, lines = process.run(binary, words, environment, folder, LIMIT + len(cases))
    if code != CLEAN:
        said = "\n".join(lines[-20:])
        raise Failure(f"Expected every committed case of {target} to pass, and one ended with exit code {code}:\n{said}")


def _answer(*command: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{Path(words[0]).name} failed (exit {done.returncode}): {done.stderr.strip()[-300:]}")
    return done.stdout


def files(report: str) -> list[File]:
    """What an lcov report says of the subjects' files."""
    found = []
    for record in report.split("end_of_record"):
        name = re.search(r"^SF:(.*)", record, re.M)
        path = Path(name[1]) if name else Path()
        if not path.is_relative_to(ROOT / PLACE):
            continue
        if path.parent.name in _LEFT_OUT or path.stem.endswith("_test"):
            continue
        runs = {int(line): int(count) for line, count in re.findall(r"^DA:(\d+),(\d+)", record, re.M)}
        twins = twin_lines(path.read_text()) & runs.keys()
        kept = {line: count for line, count in runs.items() if line not in twins}
        if kept:
            found.append(File(str(path.relative_to(ROOT)), kept, len(twins)))
    if not found:
        raise Failure(f"Expected counts for files in {PLACE}, found none: is the build older than this command?")
    return sorted(found, key=lambda file: file.path)


def shortened(numbers: list[int]) -> str:
    """1-3, 7"""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def _percent(some: list[File]) -> float:
    return round(100 * sum(file.covered for file in some) / sum(len(file.runs) for file in some), 1)


def summary(found: list[File]) -> dict[str, Any]:
    folders = sorted({str(Path(file.path).parent) for file in found} - {PLACE})
    percents = {folder: _percent([file for file in found if file.path.startswith(f"{folder}/")]) for folder in folders}
    rows = [
        {
            "file": file.path,
            "lines": len(file.runs),
            "covered": file.covered,
            "percent": _percent([file]),
            "twins": file.twins,
            "missed": file.missed,
        }
        for file in found
    ]
    return {"lines_percent": percents | {PLACE: _percent(found)}, "files": rows}


def text(found: list[File]) -> str:
    rows: list[list[object]] = [
        [
            file.path.removeprefix(f"{PLACE}/"),
            len(file.runs),
            file.covered,
            f"{_percent([file]):.1f}",
            file.twins,
            shortened(file.missed),
        ]
        for file in found
    ]
    lines = sum(len(file.runs) for file in found)
    rows.append(["all", lines, sum(f.covered for f in found), f"{_percent(found):.1f}", sum(f.twins for f in found), ""])
    return render([PLACE, "lines", "covered", "percent", "twins' own", "missed"], rows)
