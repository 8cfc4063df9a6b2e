"""Proof that the detectors are alive: each broken canary is found where fuzz/canary/expectations.txt says so and replays at once,
and the safe ones stay silent."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import interpreter, process, targets
from handoff_tool.outcome import CLEAN, FINDING, TIMEOUT, Failure
from handoff_tool.output import Output
from handoff_tool.places import ROOT

TABLE = ROOT / "fuzz" / "canary" / "expectations.txt"
PREFIX = "canary_"
# `listed` is what every replay runs under; pos and surw decide at each point, hence never at an access.
FINEST = (
    ("random", "access"),
    ("pct", "access"),
    ("bytes", "access"),
    ("pos", "sync"),
    ("surw", "sync"),
    ("random", "sync"),
    ("random", "op"),
)
ALL = (*FINEST, ("pct", "sync"), ("bytes", "sync"), ("pct", "op"), ("bytes", "op"), ("pos", "op"), ("surw", "op"))
SAFE = (("random", "access"), ("surw", "sync"))
PROOFS = ("canary_data_race", "canary_hidden_race")  # that the scheduler is invisible: under every mode there is
SAFE_RUNS = 1500
LIMIT = 60.0  # seconds to find what must be found; no verdict on speed, an end for what is never found


@dataclass(frozen=True)
class Row:
    target: str
    twin: str
    sanitizer: str
    expected: dict[str, frozenset[str] | None]  # by granularity; empty: nothing can be found; None: must not be run


@dataclass(frozen=True)
class Check:
    """One canary under one mode; without a twin it must stay silent."""

    target: targets.Target
    sanitizer: str
    choices: targets.Choices
    expected: frozenset[str]

    def name(self) -> str:
        mode = f"{self.choices.strategy}/{self.choices.granularity}" + (
            f", on {self.choices.carrier}s" if self.choices.carrier else ""
        )
        return f"{self.target.name} ({self.sanitizer}, {self.choices.twin or 'safe'}, {mode})"


def read(path: Path = TABLE) -> list[Row]:
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 6:
            raise Failure(f"{path}:{number}: expected target, twin, sanitizer and three columns, found {len(words)} words.")
        kinds = [None if word == "?" else frozenset(word.split("|")) - {"-"} for word in words[3:]]
        rows.append(Row(words[0], words[1], words[2], dict(zip(targets.GRANULARITIES, kinds, strict=True))))
    return rows


def checks(rows: list[Row], everything: dict[str, targets.Target]) -> Iterator[Check]:
    """Broken canaries wherever they can be found, the safe ones beside them, and both once more on threads."""
    silent: set[tuple[str, str]] = set()
    for row in rows:
        if row.sanitizer not in interpreter.SANITIZERS:
            continue
        target = everything.get(row.target)
        if target is None or row.sanitizer not in target.binaries:
            raise Failure(f"{TABLE.name} names {row.target} ({row.sanitizer}), which is not built.")
        modes = ALL if row.target in PROOFS else FINEST
        broken = [(s, g, "") for s, g in modes if row.expected[g]]
        broken += [("random", g, "") for g, kinds in row.expected.items() if kinds == frozenset()]
        broken += [("random", "access", "thread")] if row.expected["access"] and target.carrier == "fiber" else []
        for s, g, c in broken:
            yield Check(target, row.sanitizer, targets.Choices(row.twin, s, g, carrier=c), row.expected[g] or frozenset())
        if (row.target, row.sanitizer) in silent:
            continue
        silent.add((row.target, row.sanitizer))
        quiet = [(s, g, "") for s, g in (ALL if row.target in PROOFS else SAFE)]
        quiet += [("random", "access", "thread")] if target.carrier == "fiber" else []
        yield from (Check(target, row.sanitizer, targets.Choices("", s, g, carrier=c), frozenset()) for s, g, c in quiet)


def timeout(check: Check) -> int:
    """Seconds for one execution: short where the time-out is what is expected, else long enough for a loaded machine."""
    return 2 if "timeout" in check.expected else 25


def run(check: Check) -> str:
    """Empty when it went as it must, else a sentence."""
    binary = check.target.binaries[check.sanitizer]
    with tempfile.TemporaryDirectory(prefix="handoff-canary-") as name:
        folder = Path(name)
        corpus = folder / "corpus"  # libFuzzer writes into the first folder
        corpus.mkdir()
        limit = f"-max_total_time={LIMIT:.0f}" if check.expected else f"-runs={SAFE_RUNS}"
        words: list[str | Path] = [
            corpus,
            *targets.seeds(check.target.name),
            f"-artifact_prefix={folder}/",
            "-seed=1",
            f"-timeout={timeout(check)}",
            limit,
        ]
        output = Output()
        code = process.Process(binary, words, check.choices.environment(), folder).follow(output.feed, LIMIT + 30)
        if not check.expected:
            return "" if code == CLEAN else f"{check.name()}: expected silence, found exit {code}, {output.signature()}"
        kind = output.signature().partition("--")[0]
        if code not in (FINDING, TIMEOUT) or kind not in check.expected:
            return f"{check.name()}: expected {' or '.join(sorted(check.expected))}, found exit {code}, {output.signature()}"
        file = Path(output.written)
        if not output.written or not file.is_file() or not file.stat().st_size:
            return f"{check.name()}: found {kind}, but no file was written"
        return _replays(check, file, folder, output.signature())


def _replays(check: Check, file: Path, folder: Path, signature: str) -> str:
    """The file alone must do it: no strategy is given any more."""
    again = folder / "replay"
    again.mkdir()
    shutil.copy(file, again / "case")
    output = Output()
    environment = targets.Choices(check.choices.twin, carrier=check.choices.carrier).environment()
    words: list[str | Path] = [f"-artifact_prefix={again}/", f"-timeout={timeout(check)}", again / "case"]
    code = process.Process(check.target.binaries[check.sanitizer], words, environment, again).follow(output.feed, LIMIT)
    if code in (FINDING, TIMEOUT):
        return ""
    kept = Path(tempfile.gettempdir()) / f"handoff-{check.target.name}-{check.sanitizer}-{file.name}"
    shutil.copy(file, kept)
    return f"{check.name()}: {signature} does not replay at the first run (exit {code}); the file is {kept}"


def run_all(everything: dict[str, targets.Target]) -> list[tuple[Check, str]]:
    with process.pool() as pool:
        todo = list(checks(read(), everything))
        return list(zip(todo, pool.map(run, todo), strict=True))


def others(everything: dict[str, targets.Target]) -> dict[str, targets.Target]:
    """The targets proper."""
    return {name: target for name, target in everything.items() if not name.startswith(PREFIX)}
