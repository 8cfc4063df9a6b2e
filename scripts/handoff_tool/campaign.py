"""`fuzz`: every target under every sanitizer, side by side on the cores there are, restarted after each finding."""

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_tool import children, findings, interpreter, machine, targets
from handoff_tool.outcome import CLEAN, FAILED, FINDING, INTERRUPTED
from handoff_tool.output import Output
from handoff_tool.places import Cache, command, short
from handoff_tool.process import Process
from handoff_tool.progress import seconds_text
from handoff_tool.table import render

GRACE = 60.0  # seconds past its time before a target counts as hung
MEMORY_MB = 4096
# As the harness and libFuzzer name the files of findings; the last is of what did not fail again.
ARTIFACTS = ("crash-*", "timeout-*", "oom-*", "leak-*", "unconfirmed-*")


@dataclass
class Job:
    """One target under one sanitizer; written by its own thread only, read by the display."""

    target: targets.Target
    sanitizer: str
    state: str = "waiting"
    executions: int = 0
    seconds: float = 0.0
    now: Output = field(default_factory=Output)
    rate: int = 0  # executions per second, as last known
    folder: Path | None = None  # where the target writes what it finds
    coverage: int = 0
    corpus: int = 0
    repeats: int = 0  # findings whose signature was known
    unconfirmed: int = 0
    found: dict[str, Path] = field(default_factory=dict)  # signature to the folder that keeps it
    doubtful: dict[str, Path] = field(default_factory=dict)  # the same of what stayed unconfirmed
    error: str = ""
    said: str = ""  # the target's last line before an error

    def doing(self) -> str:
        """For the live line. A case is written as soon as it is confirmed; as long as it lies there it is made smaller."""
        with contextlib.suppress(OSError):  # the folder may go while we look
            if self.folder and any(self.folder.glob("crash-*")):
                return "shortening"
        return f"{self.rate:,}/s" if self.rate else "starting"

    def in_doubt(self) -> dict[str, Path]:
        """What is unconfirmed still: the folder goes when the same is confirmed later, by whatever job."""
        return {signature: folder for signature, folder in self.doubtful.items() if (folder / findings.REPORT).exists()}

    def row(self) -> list[object]:
        rate = int(self.executions / self.seconds) if self.seconds > 0 else 0
        # libFuzzer counts aloud each second or so: what was found before, or on the way to the first time, came out of nothing.
        unknown = self.executions <= 1 and (self.found or self.unconfirmed)
        return [
            self.target.name,
            self.sanitizer,
            *(["-"] * 4 if unknown else [self.executions, rate, self.coverage, self.corpus]),
            len(self.found),
            self.unconfirmed,
            self.error or self.state,
        ]


HEADINGS = ["target", "sanitizer", "executions", "per second", "coverage", "corpus", "findings", "unconfirmed", "ended"]


@dataclass
class Plan:
    seconds: float
    seed: int | None
    choices: targets.Choices
    library: Path | None = None  # where findings go; the checkout's findings/ if None


class Campaign:
    def __init__(self, cache: Cache, jobs: list[Job], plan: Plan) -> None:
        self._cache, self.jobs, self._plan = cache, jobs, plan
        self._stop, self._hurry = threading.Event(), threading.Event()
        self._running: set[Process] = set()
        self._lock = threading.Lock()

    def run(self, show: "Display", asked: children.Interruptions) -> bool:
        """Returns whether it was interrupted; jobs hold the results either way.

        The first interruption lets the targets end, the second does not wait for them; what they have written is kept all the same.
        """
        pool = ThreadPoolExecutor(machine.cores())
        futures = [pool.submit(self._work, job) for job in self.jobs]
        try:
            while not all(future.done() for future in futures):
                show.refresh(self.jobs)
                asked.wait(show.pause)
                if asked.count and not self._stop.is_set():
                    show.say("handoff fuzz: ending; once more does not wait for the targets.")
                    self._end(futures, self._stop, Process.interrupt)
                if asked.count > 1 and not self._hurry.is_set():
                    self._end(futures, self._hurry, Process.kill)
        except BaseException:  # of the display: nobody heeds an interruption any more
            self._end(futures, self._stop, Process.interrupt)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            show.close()
        for future in futures:
            if not future.cancelled():
                future.result()  # an error of ours
        return self._stop.is_set()

    def _end(self, futures: list[Future[None]], event: threading.Event, how: Callable[[Process], None]) -> None:
        event.set()
        for future in futures:  # those that wait
            future.cancel()
        with self._lock:
            for process in self._running:
                how(process)

    def _work(self, job: Job) -> None:
        """Runs on a thread of its own: what the system refuses ends this job and is told in its row, not the campaign."""
        job.state = "running"
        folder: Path | None = None
        try:
            folder = job.folder = Path(tempfile.mkdtemp(prefix="handoff-fuzz-"))
            with self._log(job).open("w") as log:
                self._repeat(job, folder, log)
        except (OSError, RuntimeError) as error:  # a full disk, no more processes or threads
            job.error = "error"
            job.said = f"the system refused: {error}."
        job.state = "interrupted" if self._stop.is_set() else "finding" if job.found or job.unconfirmed else "clean"
        left = _artifacts(job.now, folder) if folder is not None else []
        if job.error and left:
            job.said += f" What was found last could not be kept and is in {left[0]}"
        elif folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _repeat(self, job: Job, folder: Path, log: Any) -> None:
        start, launch = time.monotonic(), 0
        while (left := self._plan.seconds - (time.monotonic() - start)) > 0.5 and not self._stop.is_set():
            before = job.executions
            code = self._launch(job, folder, left, launch, log)
            launch += 1
            job.seconds = time.monotonic() - start
            if not self._collect(job, folder):  # whatever the code: what ended the process may have chosen it
                if not (code == INTERRUPTED or self._stop.is_set() or (code == CLEAN and job.now.done)):
                    job.error = f"error (exit {code}); see {log.name}"
                    job.said = "it ended before its time." if code == CLEAN else job.now.last_line()
                return
            if code == INTERRUPTED:  # in the middle of confirming, perhaps
                return
            job.executions = max(job.executions, before + 1)  # libFuzzer may die before its first status line

    def _log(self, job: Job) -> Path:
        self._cache.logs.mkdir(parents=True, exist_ok=True)
        return self._cache.logs / f"fuzz-{job.target.name}-{job.sanitizer}.log"

    def _launch(self, job: Job, folder: Path, left: float, launch: int, log: Any) -> int:
        output = job.now = Output()
        before, start = job.executions, time.monotonic()

        def line(text: str) -> None:
            print(text, file=log)
            output.feed(text)
            if before + output.executions != job.executions:
                job.executions = before + output.executions
                # libFuzzer says 0 in its first second. What is spent on a finding is not counted.
                job.rate = output.per_second or int(output.executions / (time.monotonic() - start))
            job.coverage, job.corpus = max(job.coverage, output.coverage), max(job.corpus, output.corpus)

        words: list[str | Path] = [
            f"-artifact_prefix={folder}/",
            f"-max_total_time={max(1, round(left))}",
            f"-rss_limit_mb={MEMORY_MB}",
            "-print_final_stats=0",
        ]
        if self._plan.seed is not None:
            words.append(f"-seed={self._plan.seed + launch}")
        process = Process(
            job.target.binaries[job.sanitizer],
            words + self._corpora(job.target, folder, launch),
            self._plan.choices.environment(),
            folder,
        )
        with self._lock:
            self._running.add(process)
        if self._stop.is_set():
            process.interrupt()
        if self._hurry.is_set():
            process.kill()
        try:
            return process.follow(line, left + GRACE)
        finally:
            with self._lock:
                self._running.discard(process)
            log.flush()

    def _corpora(self, target: targets.Target, folder: Path, launch: int) -> list[str | Path]:
        """The gathered corpus first: libFuzzer writes into the first folder.

        A twin fails its regression cases and often the seeds too: it gets the seeds once, then nothing, or it would never get
        past them. What it gathers is thrown away.
        """
        if self._plan.choices.twin:
            gathered = folder / f"corpus-{launch}"
            committed = ["seed"] if launch == 0 else []
        else:
            gathered = self._cache.corpus(target.name)
            committed = ["seed", "regression"]
        gathered.mkdir(parents=True, exist_ok=True)
        return [gathered, *(place for name in committed if (place := targets.CORPUS / target.name / name).is_dir())]

    def _collect(self, job: Job, folder: Path) -> bool:
        """Keeps what one process has found; False if that is nothing."""
        output, files = job.now, _artifacts(job.now, folder)
        if not files:
            return False
        file, report = files[0], output.finding_text()
        if not output.explained():
            report += f"The target ended without an explanation, for which this looks:\n  scripts/handoff explain {file}\n"
        origin = findings.Origin(
            job.target.name,
            job.sanitizer,
            self._plan.choices.twin,
            self._plan.choices.carrier,
            output.signature(f"unexplained-{file.name}"),  # two of them need not be the same
            not file.match(ARTIFACTS[-1]) and (output.confirmed or str(file) != output.written),
        )
        place, _ = findings.keep(origin, file, report, self._plan.library)
        for older in files[1:]:  # versions of this one, as a process ends with its first finding
            older.unlink(missing_ok=True)
        if not origin.confirmed:
            job.unconfirmed += 1
            job.doubtful[origin.signature] = place
        elif origin.signature in job.found:
            job.repeats += 1
        else:
            job.found[origin.signature] = place
        return True


def _artifacts(output: Output, folder: Path) -> list[Path]:
    """What a process has left of its finding, first what counts: the file that it named, then those that it had no time to name,
    confirmed ones before others and smaller ones before larger ones. A case is written as soon as it is confirmed."""
    named = [Path(output.written)] if output.written else []
    written = [file for kind in ARTIFACTS for file in sorted(folder.glob(kind), key=lambda one: one.stat().st_size)]
    return [file for file in dict.fromkeys(named + written) if file.is_file() and file.stat().st_size]


class Display:
    """One moving line on a terminal, a line now and then elsewhere; nothing when quiet."""

    def __init__(self, stream: Any, quiet: bool = False) -> None:
        self._stream, self._quiet, self._live = stream, quiet, stream.isatty()
        self.pause = 0.5
        self._last = 0.0

    def refresh(self, jobs: list[Job]) -> None:
        if self._quiet or (not self._live and time.monotonic() - self._last < 10):
            return
        self._last = time.monotonic()
        running = [job for job in jobs if job.state == "running"]
        parts = [
            f"{j.target.name}/{j.sanitizer} {j.doing()} cov {j.coverage} corpus {j.corpus} findings {len(j.found)}" for j in running
        ]
        waiting = sum(job.state == "waiting" for job in jobs)
        text = " | ".join(parts) + (f" | {waiting} waiting" if waiting else "")
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:width]}", end="", file=self._stream, flush=True)
        else:
            print(text, file=self._stream, flush=True)

    def say(self, line: str) -> None:
        self.close()
        if not self._quiet:
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        if self._live and not self._quiet:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def exit_code(jobs: list[Job], interrupted: bool) -> int:
    if interrupted:
        return INTERRUPTED
    if any(job.found or job.unconfirmed for job in jobs):
        return FINDING
    return FAILED if any(job.error for job in jobs) else CLEAN


def summary(jobs: list[Job], interrupted: bool) -> dict[str, Any]:
    keys = [heading.replace(" ", "_") for heading in HEADINGS]

    def listed(places: Callable[[Job], dict[str, Path]]) -> list[dict[str, str]]:
        return [
            {"signature": signature, "target": job.target.name, "sanitizer": job.sanitizer, "file": str(file)}
            for job in jobs
            for signature, folder in places(job).items()
            for file in findings.case_files(folder)
        ]

    return {
        "rows": [dict(zip(keys, job.row(), strict=True)) for job in jobs],
        "findings": listed(lambda job: job.found),
        "unconfirmed": listed(Job.in_doubt),
        "interrupted": interrupted,
    }


def _noticed_elsewhere(job: Job, twin: str, jobs: list[Job]) -> list[str]:
    """That nothing was found with a twin says nothing where another sanitizer is the one that notices it."""
    detector = next((facts.get("detector", "") for facts in job.target.twins if facts["name"] == twin), "")
    ran = any(other.target.name == job.target.name and other.sanitizer == detector for other in jobs)
    if job.found or job.unconfirmed or ran or detector not in interpreter.SANITIZERS:
        return []
    return [f"{job.target.name} ({job.sanitizer}): twin {twin} is noticed by the other sanitizer: --sanitizer {detector}"]


def text(jobs: list[Job], interrupted: bool, seconds: float, twin: str = "") -> str:
    lines = [render(HEADINGS, [job.row() for job in jobs]), ""]
    for job in jobs:
        lines += [f"{job.target.name} ({job.sanitizer}): {job.said}"] if job.said else []
        for signature, folder in job.found.items():
            lines += _told(job, signature, folder)
        for signature, folder in job.in_doubt().items():
            lines += _told(job, f"{signature} (unconfirmed)", folder)
        lines += _noticed_elsewhere(job, twin, jobs)
    total = len({folder for job in jobs for folder in job.found.values()})  # both sanitizers may have found the same
    doubtful = len({folder for job in jobs for folder in job.in_doubt().values()})
    count = f"{total} finding{'' if total == 1 else 's'}" + (f" and {doubtful} unconfirmed" if doubtful else "")
    ending = f"{'Interrupted' if interrupted else 'Ended'} after {seconds_text(seconds)} with {count}"
    searched = not total and not doubtful and not any(job.error for job in jobs)
    lines.append(ending + ("; that nothing was found does not mean that nothing is there." if searched else "."))
    return "\n".join(lines)


def _told(job: Job, what: str, folder: Path) -> list[str]:
    lines = [f"{job.target.name} ({job.sanitizer}): {what}", f"    read it: {short(folder / findings.REPORT)}"]
    replay = f"    replay it: {command()} replay {short(folder)}"
    return [*lines, replay] if findings.case_files(folder) else lines
