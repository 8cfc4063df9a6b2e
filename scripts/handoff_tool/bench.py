"""`bench`: measurements that are run by hand, never judged by a test."""

import itertools
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_tool import builds, children, findings, process, replay, targets
from handoff_tool.outcome import CLEAN, FAILING, Failure
from handoff_tool.output import Output
from handoff_tool.progress import Progress
from handoff_tool.table import render

KINDS = ("throughput", "replay")
THROUGHPUT = "throughput_benchmark"  # the program, built with each sanitizer

# --- throughput ---

_ROW_KEYS = ("target", "sanitizer", "carrier", "granularity", "per_second", "slowest", "fastest", "baseline_per_second")
# A machine that others use is faster in one minute than in the next: each row has its share of both.
ROUNDS = 5


def throughput(sanitizers: list[str], progress: Progress) -> dict[str, Any]:
    """Runs the benchmark program of each build, several times. Its benchmarks are named TARGET/CARRIER/GRANULARITY, and
    TARGET/baseline/GRANULARITY for a runner that makes new threads for each execution of the same cases."""
    rows: list[dict[str, Any]] = []
    for sanitizer in sanitizers:
        program = builds.folder(sanitizer) / "harness" / "run" / THROUGHPUT
        with progress.step(f"measure in {ROUNDS} rounds ({sanitizer})", 15 * ROUNDS):
            rows += throughput_rows(sanitizer, [_round(program) for _ in range(ROUNDS)])
    return {"rows": rows}


def _round(program: Path) -> dict[str, float]:
    command = targets.command(program, "--benchmark_format=json")
    answer = children.call(command, capture_output=True, env=targets.environment({}))
    try:
        runs = json.loads(answer.stdout)["benchmarks"]
        # Google Benchmark appends how it measured ("/real_time") to the name.
        return {"/".join(run["name"].split("/")[:3]): run["items_per_second"] for run in runs if "items_per_second" in run}
    except (ValueError, KeyError) as error:
        raise Failure(f"{program} gave no result (exit {answer.returncode}): {answer.stderr.strip()[-300:]}") from error


def throughput_rows(sanitizer: str, rounds: list[dict[str, float]]) -> list[dict[str, Any]]:
    """A row's rate is the median of its rounds, and so is the rate of what stands beside it."""
    rates = {name: sorted(one[name] for one in rounds if name in one) for name in rounds[0]}
    rows = []
    for name, measured in rates.items():
        target, carrier, granularity = name.split("/")
        if carrier == "baseline":
            continue
        baseline = rates.get(f"{target}/baseline/{granularity}") or rates.get(f"{target}/baseline/op")
        values = (target, sanitizer, carrier, granularity, round(statistics.median(measured)))
        spread = (round(measured[0]), round(measured[-1]))
        rows.append(dict(zip(_ROW_KEYS, (*values, *spread, round(statistics.median(baseline)) if baseline else None), strict=True)))
    return rows


def throughput_text(result: dict[str, Any]) -> str:
    headings = ["target", "sanitizer", "carrier", "points", "per second", "slowest", "fastest", "threads anew", "factor"]
    rows = []
    for row in result["rows"]:
        base = row["baseline_per_second"]
        rows.append([*(row[key] for key in _ROW_KEYS), f"{row['per_second'] / base:.1f}" if base else "-"])
    return render(headings, rows) + f"\nMedians of {ROUNDS} rounds, and the slowest and fastest of them."


# --- replay ---

# pos and surw decide at each point, so they go no finer than `sync`; `free` is not replayable; `listed` is what all become.
_MODES = [(s, g) for s in ("random", "pct", "bytes") for g in ("op", "sync", "access")] + [
    (s, g) for s in ("pos", "surw") for g in ("op", "sync")
]
_LEFT_OUT = "nondeterminism"  # the canary that is not repeatable on purpose
SEARCH_SECONDS = 10
TIMEOUT_SECONDS = 5  # of one execution; the canaries that never end take that long every time


@dataclass(frozen=True)
class Source:
    """Where a finding may come from."""

    target: targets.Target
    twin: str
    sanitizer: str
    strategy: str
    granularity: str


@dataclass
class Tally:
    wanted: int
    folder: Path
    found: list[tuple[Path, findings.Origin]] = field(default_factory=list)
    unconfirmed: int = 0
    searches: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def full(self) -> bool:
        return len(self.found) >= self.wanted


def sources(everything: dict[str, targets.Target]) -> list[Source]:
    """All twins under all modes, in an order in which neighbours differ in everything."""
    broken = [(t, name, s) for t in everything.values() if _LEFT_OUT not in t.name for name in t.twin_names() for s in t.binaries]
    spread = [
        Source(target, twin, sanitizer, *_MODES[(i + turn) % len(_MODES)])
        for turn in range(len(_MODES))
        for i, (target, twin, sanitizer) in enumerate(broken)
    ]
    if not spread:
        raise Failure("No target has a twin to collect findings from.")
    return spread


def _search(tally: Tally, source: Source, seed: int) -> None:
    """One fuzzing process, until its first finding or the end of its time."""
    if tally.full():
        return
    folder = tally.folder / f"{seed:05d}"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    choices = targets.Choices(source.twin, source.strategy, source.granularity)
    places = [corpus, *(targets.seeds(source.target.name) if seed % 2 else [])]  # with and without a start
    words: list[str | Path] = [
        *places,
        f"-artifact_prefix={folder}/",
        f"-seed={seed}",
        f"-max_total_time={SEARCH_SECONDS}",
        f"-timeout={TIMEOUT_SECONDS}",
    ]
    output = Output()
    code = process.Process(source.target.binaries[source.sanitizer], words, choices.environment(), folder).follow(
        output.feed, SEARCH_SECONDS + 90
    )
    shutil.rmtree(corpus)
    if output.verdict(code) not in (CLEAN, *FAILING):
        raise Failure(
            f"{source.target.name} ({source.sanitizer}, twin {source.twin}) ended with exit code {code}: "
            f"{output.report().strip()[-300:]}"
        )
    with tally.lock:
        tally.searches += 1
        if not output.written or tally.full():
            return
        if not output.confirmed:
            tally.unconfirmed += 1
            return
        origin = findings.Origin(source.target.name, source.sanitizer, source.twin, signature=output.signature())
        tally.found.append((Path(output.written), origin))


def _endless(spread: list[Source]) -> Iterator[tuple[int, Source]]:
    return enumerate(itertools.cycle(spread), 1)


def replays(everything: dict[str, targets.Target], wanted: int, times: int, log: Any = sys.stderr) -> dict[str, Any]:
    """Collects findings from the twins, then replays each file `times` times, each time as the first run of a fresh process."""
    spread = sources(everything)
    with tempfile.TemporaryDirectory(prefix="handoff-bench-") as name:
        tally = Tally(wanted, Path(name))
        start = time.monotonic()
        with process.pool() as pool:
            limit = 4 * len(spread) + wanted  # searches, so that a build that finds nothing ends
            for _ in pool.map(lambda pair: _search(tally, pair[1], pair[0]), itertools.islice(_endless(spread), limit)):
                if log.isatty():
                    print(
                        f"\r\x1b[Kcollected {len(tally.found)} of {wanted} ({tally.searches} searches)",
                        end="",
                        file=log,
                        flush=True,
                    )
                if tally.full():
                    break
        print(
            f"collected {len(tally.found)} findings in {time.monotonic() - start:.0f} s "
            f"({tally.searches} searches, {tally.unconfirmed} unconfirmed)",
            file=log,
        )
        bad: list[dict[str, Any]] = []
        failed_again = 0
        with process.pool() as pool:
            replayed = pool.map(lambda pair: replay.replay(*pair, times, timeout=TIMEOUT_SECONDS), tally.found)
            results = _counted(replayed, len(tally.found), log)
        for (path, origin), result in zip(tally.found, results, strict=True):
            failed_again += result.replayed
            if result.replayed < times:
                bad.append(
                    {
                        "target": origin.target,
                        "sanitizer": origin.sanitizer,
                        "twin": origin.twin,
                        "signature": origin.signature,
                        "replayed": result.replayed,
                        "of": times,
                        "file": str(_rescue(path, origin)),
                    }
                )
    confirmed = len(tally.found) / max(len(tally.found) + tally.unconfirmed, 1)
    return {
        "findings": len(tally.found),
        "replayed": failed_again,  # runs, all files together
        "of": times * len(tally.found),
        "every_time": len(tally.found) - len(bad),  # files
        "unconfirmed": tally.unconfirmed,
        "confirmed_percent": round(100 * confirmed, 1),
        "failures": bad,
    }


def _counted(results: Iterator[replay.Result], total: int, log: Any) -> list[replay.Result]:
    """All results, said one after another."""
    done: list[replay.Result] = []
    for result in results:
        done.append(result)
        if log.isatty() or len(done) % 20 == 0:
            missed = sum(r.replayed < r.of for r in done)
            print(f"replayed {len(done)} of {total} files, {missed} not every time", file=log, flush=True)
    return done


def _rescue(path: Path, origin: findings.Origin) -> Path:
    """A file that does not replay is what one wants to look at: it is kept with the findings, unless a smaller one is there."""
    if not path.exists():
        return path
    folder, _ = findings.keep(findings.Origin(**(vars(origin) | {"confirmed": False})), path, "")
    return findings.case_files(folder)[0]


def replays_text(result: dict[str, Any]) -> str:
    lines = [
        f"{bad['target']} ({bad['sanitizer']}, {bad['twin']}): {bad['replayed']} of {bad['of']}: {bad['file']}"
        for bad in result["failures"]
    ]
    lines.append(
        f"{result['every_time']} of {result['findings']} findings replay every time "
        f"({result['replayed']} of {result['of']} runs); "
        f"{result['confirmed_percent']} % of all found were confirmed."
    )
    return "\n".join(lines)
