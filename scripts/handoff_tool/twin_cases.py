"""A committed case for each twin of a target: what is found with it says whether the oracle that it was made for still bites."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from handoff_tool import comments, findings, process, replay, targets
from handoff_tool.outcome import CLEAN, FINDING, Failure
from handoff_tool.output import Output
from handoff_tool.places import write_atomically

LIMIT = 60  # seconds to find a twin's bug once more
SEEDS = (1, 2, 3)  # of the search, one after the other


def missing(target: targets.Target, cases: list[Path]) -> list[str]:
    """The twins that no committed case is about."""
    there = {findings.origin(path).twin for path in cases}
    return [name for name in target.twin_names() if name not in there]


def saying(text: str, found: str) -> str:
    """A case that does not say what is found with it, with the comment that does, behind the comments at its start."""
    lines = text.splitlines(keepends=True)
    at = next((i for i, line in enumerate(lines[1:], 1) if not line.startswith("#")), len(lines))
    return "".join([*lines[:at], f"# {comments.FINDS}: {found}\n", *lines[at:]])


def as_regression(path: Path, origin: findings.Origin) -> str:
    """The case as text that says all that `test` heeds: how it is run and, of a twin's, what is found with it now."""
    text = replay.as_text(path, origin)
    found = replay.once(path, origin)[1].found() if origin.twin else ""
    return saying(text, found) if found else text


def refresh(everything: dict[str, targets.Target], committed: dict[str, list[Path]]) -> None:
    """Searches a case for each twin that has none, which joins those `committed`, and lets each case say what is found with it.
    What cannot be found is named on standard error; the stage then fails for want of a case."""
    todo = [(target, twin) for target in everything.values() for twin in missing(target, committed[target.name])]
    with process.pool() as pool:
        for (target, twin), path in zip(todo, pool.map(lambda one: _make(*one), todo), strict=True):
            if path:
                committed[target.name].append(path)
                print(f"{path}: {comments.expected(path)}", file=sys.stderr, flush=True)
            else:
                print(f"{target.name}: no finding on twin {twin} in {len(SEEDS)} searches of {LIMIT} seconds", file=sys.stderr)
    for path in (path for name in everything for path in committed[name]):
        origin = findings.origin(path)
        if origin.twin and not comments.expected(path):
            _, output = replay.once(path, replay.locate(path, origin))
            if found := output.found():
                write_atomically(path, saying(path.read_text(), found))


def _make(target: targets.Target, twin: str) -> Path | None:
    for origin in _ways(target, twin):
        for seed in SEEDS:
            with tempfile.TemporaryDirectory(prefix="handoff-twin-") as name:
                if path := _search(target, origin, seed, Path(name)):
                    return path
    return None


def _ways(target: targets.Target, twin: str) -> Iterator[findings.Origin]:
    """By the sanitizer that is said to notice it first."""
    detector = next(facts["detector"] for facts in target.twins if facts["name"] == twin)
    for sanitizer in sorted(target.binaries, key=lambda name: (name != detector, name != "thread")):
        yield findings.Origin(target.name, sanitizer, twin)


def _search(target: targets.Target, origin: findings.Origin, seed: int, folder: Path) -> Path | None:
    corpus = folder / "corpus"  # libFuzzer writes into the first folder
    corpus.mkdir()
    words = [corpus, *targets.seeds(target.name), f"-artifact_prefix={folder}/", f"-seed={seed}", f"-max_total_time={LIMIT}"]
    output = Output()
    environment = replay.choices(origin).environment()
    code = process.Process(target.binaries[origin.sanitizer], words, environment, folder).follow(output.feed, LIMIT + 60)
    case = Path(output.written)
    if output.verdict(code) != FINDING or not output.written or not output.confirmed:
        return None
    if any(replay.on_safe(binary, case)[0] != CLEAN for binary in target.binaries.values()):
        return None
    place = targets.CORPUS / target.name / "regression" / f"{origin.twin}.txt"
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_atomically(place, replay.as_text(case, origin))
    except Failure:
        return None
    code, output = replay.once(place, origin)  # of the text, first run of a fresh process
    if code == CLEAN:
        place.unlink()
        return None
    write_atomically(place, saying(place.read_text(), output.found()))
    return place
