"""Proof that the detectors are alive: each broken canary is found where fuzz/canary/expectations.txt says so and replays at once,
also by the same schedule in the builds with the other sanitizer and with none, and the safe ones stay silent."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import builds, interpreter, process, targets
from handoff_tool.outcome import CLEAN, FINDING, TIMEOUT, Failure
from handoff_tool.output import Output
from handoff_tool.places import ROOT

TABLE = ROOT / "fuzz" / "canary" / "expectations.txt"
# `listed` is what every replay runs under; pos and surw decide at each point, hence never at an access.
SEEDED = ("random", "pct", "bytes")
ALL = (*((s, "access") for s in SEEDED), *((s, g) for g in ("sync", "op") for s in (*SEEDED, "pos", "surw")))
SAFE = (("random", "access"), ("surw", "sync"))
PORTABLE = ("random", "sync")  # the mode whose finding is taken to the other builds: they have no access points in common
PLAIN = "gcc"  # the preset without a sanitizer, called "none" in the table
PROOFS = ("canary_data_race", "canary_hidden_race")  # that the scheduler is invisible: under every mode there is
SAFE_RUNS = 1500
LIMIT = 60.0  # seconds to find what must be found; no verdict on speed, an end for what is never found
PATIENCE = 60  # seconds for a finding to fail again: the machine may be busy with other things


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
    elsewhere: tuple[tuple[str, frozenset[str]], ...] = ()  # what its file must show in other builds, by preset

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
        on_threads = [] if target.carrier != "fiber" else ALL if row.target in PROOFS else [("random", "access")]
        broken = [(s, g, "") for s, g in ALL] + [(s, g, "thread") for s, g in on_threads]
        for s, g, c in broken:
            kinds = row.expected[g]
            if kinds or (kinds is not None and s == "random" and not c):
                others = tuple(_elsewhere(rows, row)) if kinds and (s, g, c) == (*PORTABLE, "") else ()
                yield Check(target, row.sanitizer, targets.Choices(row.twin, s, g, carrier=c), kinds, others)
        if (row.target, row.sanitizer) in silent:
            continue
        silent.add((row.target, row.sanitizer))
        quiet = [(s, g, "") for s, g in (ALL if row.target in PROOFS else SAFE)] + [(s, g, "thread") for s, g in on_threads]
        yield from (Check(target, row.sanitizer, targets.Choices("", s, g, carrier=c), frozenset()) for s, g, c in quiet)


def _elsewhere(rows: list[Row], row: Row) -> Iterator[tuple[str, frozenset[str]]]:
    """Where else a file found in the mode PORTABLE can be run, and as what it fails there."""
    for other in rows:
        kinds = other.expected[PORTABLE[1]]
        if (other.target, other.twin) == (row.target, row.twin) and other.sanitizer != row.sanitizer and kinds is not None:
            yield (other.sanitizer if other.sanitizer in interpreter.SANITIZERS else PLAIN), kinds


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
        environment = check.choices.environment() | {"HANDOFF_CONFIRM_SECONDS": str(PATIENCE)}
        code = output.verdict(process.Process(binary, words, environment, folder).follow(output.feed, LIMIT + 2 * PATIENCE))
        if not check.expected:
            return "" if code == CLEAN else f"{check.name()}: expected silence, found exit {code}, {output.signature()}"
        kind = output.signature().partition("--")[0]
        if code not in (FINDING, TIMEOUT) or kind not in check.expected:
            return f"{check.name()}: expected {' or '.join(sorted(check.expected))}, found exit {code}, {output.signature()}"
        file = Path(output.written)
        if not output.written or not file.is_file() or not file.stat().st_size:
            return f"{check.name()}: found {kind}, but no file was written"
        case = folder / "case"
        shutil.copy(file, case)
        code, here = _replay(check, case, check.sanitizer)
        elsewhere = (_replays_in(check, case, here, preset, kinds) for preset, kinds in check.elsewhere)
        if code not in (FINDING, TIMEOUT):
            problem = f"{output.signature()} does not replay at the first run (exit {code})"
        else:
            problem = next(filter(None, elsewhere), "")
        if not problem:
            return ""
        kept = Path(tempfile.gettempdir()) / f"handoff-{check.target.name}-{check.sanitizer}-{file.name}"
        shutil.copy(file, kept)
        return f"{check.name()}: {problem}; the file is {kept}"


def _replay(check: Check, case: Path, preset: str) -> tuple[int, Output]:
    """The file alone must do it: no strategy is given any more."""
    output = Output()
    environment = targets.Choices(check.choices.twin, carrier=check.choices.carrier).environment()
    words: list[str | Path] = [f"-artifact_prefix={case.parent}/", f"-timeout={timeout(check)}", case]
    binary = builds.binary(check.target.name, preset)
    return process.Process(binary, words, environment, case.parent).follow(output.feed, LIMIT), output


def _replays_in(check: Check, case: Path, here: Output, preset: str, kinds: frozenset[str]) -> str:
    """Fails as the table says of that build, with the same schedule as `here`. What only the finding build's sanitizer notices
    passes."""
    code, there = _replay(check, case, preset)
    found = _kind(there) if code != CLEAN else "silence"
    expected = {_kind(here)} if _kind(here) in kinds else kinds | {"silence"}
    if code not in (CLEAN, FINDING, TIMEOUT) or found not in expected:
        return f"its file: expected {' or '.join(sorted(expected))} in the build {preset}, found exit {code}, {found}"
    if "" not in (here.trace, there.trace) and code == FINDING and found == _kind(here) and here.trace != there.trace:
        return f"its file: expected the trace {here.trace} in the build {preset}, found {there.trace}"
    return ""


def _kind(output: Output) -> str:
    """Without a sanitizer a program only says in a line what has ended it."""
    said = re.match(r"handoff: ([a-z-]+)(?:: | against |$)", output.last_line())
    return output.token.partition("--")[0] or (said[1] if said else output.signature())


def run_all(everything: dict[str, targets.Target]) -> list[tuple[Check, str]]:
    with process.pool() as pool:
        todo = list(checks(read(), everything))
        return list(zip(todo, pool.map(run, todo), strict=True))


def others(everything: dict[str, targets.Target]) -> dict[str, targets.Target]:
    """The targets proper."""
    return {name: target for name, target in everything.items() if not name.startswith(targets.CANARY)}
