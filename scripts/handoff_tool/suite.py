"""`test`: everything that a change must pass, one line a stage and one plain line at the end."""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from handoff_tool import builds, campaign, canaries, children, comments, findings, interpreter, machine, process, replay, setup
from handoff_tool import targets, twin_cases
from handoff_tool.outcome import CLEAN, FAILED, Failure, about, choose
from handoff_tool.places import ROOT, Cache, command
from handoff_tool.progress import Progress, seconds_text

PRESETS = (*interpreter.SANITIZERS, "gcc")
SMOKE_SECONDS = 4.0
TEST_LIMIT = 1800  # seconds one CTest test may take: the longest takes two minutes on a machine at rest


# What --only takes: the first words of the stages' names.
STAGES = ("scripts", "build", "ctest", "canaries", "smoke", "regression")
RUNNING = STAGES[3:]  # those that run targets


@dataclass
class Stage:
    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)  # what failed, and where to read on

    def line(self) -> str:
        more = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.name}: {self.passed} passed, {self.failed} failed{more} ({seconds_text(self.seconds)})"

    def judge(self, ok: bool, note: str) -> None:
        self.passed += ok
        self.failed += not ok
        self.notes += [] if ok else [note]


def run(cache: Cache, update_golden: bool, only: Sequence[str] = (), names: Sequence[str] = ()) -> list[Stage]:
    """All stages, or those named; what these need is built in any case. With names of targets: those stages that run targets,
    for these alone."""
    wanted = set(only or (RUNNING if names else STAGES))
    if names and (others := wanted - set(RUNNING)):
        expected = f"a stage that runs targets, one of {', '.join(RUNNING)}"
        raise Failure(f"--only: expected beside --target {expected}; found '{min(others)}'.")
    environment = {"HANDOFF_UPDATE_GOLDEN": "1"} if update_golden else {}
    if wanted != {"scripts"}:
        setup.ensure(cache)
    compiling = wanted & {"build", "ctest"}
    running = wanted & set(RUNNING)
    steps = len(wanted - {"build", "ctest"}) + len(PRESETS) * ("ctest" in wanted)
    # What a canary's file shows without a sanitizer is looked at, too.
    presets = PRESETS if compiling or "canaries" in wanted else interpreter.SANITIZERS if running else ()
    steps += len(presets)
    progress = Progress(steps, cache.logs)
    stages: list[Stage] = []

    def stage(name: str, estimate: float, function: Any, *arguments: Any) -> Stage:
        start = time.monotonic()
        stages.append(Stage(name))
        with progress.step(name, estimate):
            try:
                function(stages[-1], *arguments)
            except Failure as failure:
                stages[-1].judge(False, str(failure))
        stages[-1].seconds = time.monotonic() - start
        print("\n".join([stages[-1].line(), *(f"    {note}" for note in stages[-1].notes)]), file=sys.stderr, flush=True)
        return stages[-1]

    if "scripts" in wanted:
        stage("scripts", 60, _scripts, environment)
    for preset in presets:
        parts = [] if compiling else list(names) or [builds.FUZZ]
        if not stage(f"build {preset}", 150, _build, cache, preset, parts).failed and "ctest" in wanted:
            stage(f"ctest {preset}", 120, _ctest, cache, preset, environment)
    everything = {name: target for name, target in targets.built().items() if name in (names or [name])} if running else {}
    if everything and "canaries" in wanted:
        stage("canaries", 450, _canaries, everything)
    if everything and "smoke" in wanted:
        stage("smoke", 30, _smoke, cache, canaries.others(everything))
    if everything and "regression" in wanted:
        stage("regression corpus", 200, _regressions, everything, update_golden)
    return stages


def _scripts(stage: Stage, environment: dict[str, str]) -> None:
    """The command's own tests, in a process of their own."""
    command = [sys.executable, "-m", "unittest", "discover", "-s", str(ROOT / "scripts" / "tests"), "-t", str(ROOT / "scripts")]
    answer = children.call(command, capture_output=True, env=os.environ | environment)
    ran, bad = re.search(r"^Ran (\d+) test", answer.stderr, re.M), re.findall(r"(?:failures|errors)=(\d+)", answer.stderr)
    stage.failed = sum(map(int, bad)) or int(answer.returncode != 0)
    stage.passed = (int(ran[1]) if ran else 0) - stage.failed
    if stage.failed:
        stage.notes += answer.stderr.strip().splitlines()[-60:]


def _build(stage: Stage, cache: Cache, preset: str, parts: list[str]) -> None:
    builds.build(cache, preset, parts)
    stage.judge(True, "")


def _ctest(stage: Stage, cache: Cache, preset: str, environment: dict[str, str]) -> None:
    report, log = cache.logs / f"ctest-{preset}.xml", cache.logs / f"ctest-{preset}.log"
    report.unlink(missing_ok=True)
    command = [
        "ctest",
        "--test-dir",
        str(builds.folder(preset)),
        "--output-on-failure",
        "-j",
        str(machine.cores()),
        "--timeout",
        str(TEST_LIMIT),
        "--output-junit",
        str(report),
    ]
    with log.open("w") as output:
        children.call(
            [*machine.without_randomisation(), *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=targets.environment(environment),
        )
    if not report.exists():
        stage.judge(False, f"ctest wrote no result; see {log}")
        return
    for case in xml.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        if status in ("disabled", "notrun") and case.find("skipped") is not None:
            stage.skipped += 1
            continue
        printed = (case.findtext("system-out") or "").strip().splitlines()
        printed = [line for line in printed if line.startswith("[  FAILED  ]")][:20] + printed[-40:]
        stage.judge(status == "run", "\n    ".join([f"{case.get('name')} (all output: {log})", *printed]))


def _canaries(stage: Stage, everything: dict[str, targets.Target]) -> None:
    for _, problem in canaries.run_all(everything):
        stage.judge(not problem, problem)


def _smoke(stage: Stage, cache: Cache, everything: dict[str, targets.Target]) -> None:
    """A few seconds of fuzzing for each safe target: it must start, run, and find nothing. What of its corpus cannot be read the
    fuzzer skips; so every case is run once first."""
    for target in everything.values():
        sanitizer, binary = next(iter(target.binaries.items()))
        if cases := [case for place in targets.seeds(target.name) for case in findings.case_files(place)]:
            code, said = process.run(binary, ["-artifact_prefix=/dev/null/", *cases], {}, ROOT, TEST_LIMIT)
            stage.judge(code == CLEAN, f"{target.name} ({sanitizer}), its seeds: exit {code}: {_reason(said)}")
    jobs = [campaign.Job(target, sanitizer) for target in everything.values() for sanitizer in target.binaries]
    plan = campaign.Plan(SMOKE_SECONDS, 1, targets.Choices())
    with children.interruptions() as asked:
        interrupted = campaign.Campaign(cache, jobs, plan).run(campaign.Display(sys.stderr, quiet=True), asked)
    if interrupted:
        raise KeyboardInterrupt
    for job in jobs:
        ok = job.state == "clean" and not job.error and job.executions > 0
        what = (
            job.error
            or ", ".join(map(str, job.found.values()))
            or f"{job.executions} executions, {job.unconfirmed} unconfirmed findings"
        )
        stage.judge(ok, f"{job.target.name} ({job.sanitizer}): {what}")


def _regressions(stage: Stage, everything: dict[str, targets.Target], update: bool) -> None:
    """Committed cases: none fails on the safe target, and one that names a twin fails on it, first run of a fresh process. Each
    twin has one."""
    for folder in sorted(path for path in targets.CORPUS.glob("*") if path.is_dir()):
        _judge_folder(stage, folder)
    readable = {
        target.name: [path for path in _committed(target.name) if _is_case(stage, target, path)] for target in everything.values()
    }
    with_cases = canaries.others(everything)  # each canary has its row in a table instead
    if update:
        twin_cases.refresh(with_cases, readable)
    checks: list[Callable[[], tuple[bool, str]]] = []
    for target in everything.values():
        cases = readable[target.name]
        for sanitizer, binary in target.binaries.items():
            checks += [partial(_safe, binary, sanitizer, path) for path in cases]
        checks += [check for path in cases for check in _twin(target, path)]
        for name in twin_cases.missing(target, cases) if target.name in with_cases else ():
            where = targets.CORPUS / target.name / "regression"
            add = f"'{command()} test --only regression --update-golden' looks for one"
            stage.judge(False, f"{where}: expected a case with a comment '# twin: {name}', found none; {add}.")
    with process.pool() as pool:
        for verdict in pool.map(lambda check: check(), checks):
            stage.judge(*verdict)


def _judge_folder(stage: Stage, folder: Path) -> None:
    """Cases in a folder that is not named after a target would never be run."""
    try:
        with about(folder):
            targets.choose_target(folder.name)
    except Failure as failure:
        stage.judge(False, str(failure))


def _committed(target: str) -> list[Path]:
    folder = targets.CORPUS / target / "regression"
    return findings.case_files(folder) if folder.is_dir() else []


def _is_case(stage: Stage, target: targets.Target, path: Path) -> bool:
    """An empty or misspelt file would pass for ever, and so would one that names what does not exist, or another target. What the
    target cannot read is said here once, and not for each way to run it."""
    try:
        if odd := findings.read(path):
            raise Failure(odd)
        origin = replay.locate(path, findings.Origin())
        with about(path):
            choose("sanitizer", origin.sanitizer, list(target.binaries))
        replay.check([(path, origin)])
    except Failure as failure:
        stage.judge(False, str(failure))
        return False
    return True


def _safe(binary: Path, sanitizer: str, path: Path) -> tuple[bool, str]:
    code, said = replay.on_safe(binary, path)
    return code == CLEAN, f"{path} fails on the safe target ({sanitizer}), exit {code}: {_reason(said)}"


def _reason(said: list[str]) -> str:
    """What a target says last that is not blank: the sentence of an error, the signature of a finding."""
    return next((line for line in reversed(said) if line.strip()), "it printed nothing")


def _twin(target: targets.Target, path: Path) -> Iterator[Callable[[], tuple[bool, str]]]:
    origin = findings.origin(path)
    if not origin.twin:
        return
    for sanitizer in [origin.sanitizer] if origin.sanitizer in target.binaries else list(target.binaries):
        yield partial(_fails_on, path, findings.Origin(target.name, sanitizer, origin.twin, origin.carrier))


def _fails_on(path: Path, origin: findings.Origin) -> tuple[bool, str]:
    """As the case says that it does, if it says so."""
    code, output = replay.once(path, origin)
    if code in (CLEAN, FAILED):
        return False, f"{path} does not fail on twin {origin.twin} ({origin.sanitizer}), exit {code}: {output.last_line()}"
    expected = comments.expected(path)
    return expected in ("", output.found()), f"{path} ({origin.sanitizer}): expected '{expected}', found '{output.found()}'"


def summary(stages: list[Stage]) -> dict[str, Any]:
    rows = [
        {"stage": s.name, "passed": s.passed, "failed": s.failed, "skipped": s.skipped, "seconds": round(s.seconds, 1)}
        for s in stages
    ]
    notes = [f"{s.name}: {note}" for s in stages for note in s.notes]
    return {"rows": rows, "passed": sum(s.passed for s in stages), "failed": sum(s.failed for s in stages), "failures": notes}


def closing(stages: list[Stage]) -> str:
    skipped = sum(s.skipped for s in stages)
    return f"{sum(s.passed for s in stages)} passed, {sum(s.failed for s in stages)} failed" + (
        f", {skipped} skipped" if skipped else ""
    )
