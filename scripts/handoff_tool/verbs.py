"""What each verb does with its parsed flags; every function returns an exit code."""

import argparse
import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from handoff_tool import bench as benches
from handoff_tool import builds, campaign, canaries, children, findings, interpreter, listing, sources, suite, targets
from handoff_tool import coverage as coverages
from handoff_tool import doctor as doctors
from handoff_tool import replay as replays
from handoff_tool import setup as setups
from handoff_tool import twin_cases
from handoff_tool.outcome import CLEAN, FAILED, Failure
from handoff_tool.places import Cache
from handoff_tool.progress import Progress


def _emit(args: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    """One JSON object and nothing else with --json, the text otherwise."""
    print(json.dumps(data) if args.json else text, flush=True)


def _options(args: argparse.Namespace) -> setups.Options:
    place = sources.PythonSource(args.python_source, args.sha256 or "") if args.python_source else None
    if args.sha256 and not place:
        raise Failure("--sha256 belongs to --python-source; give both.")
    return setups.Options(place, Path(args.dlpack_include) if args.dlpack_include else None)


def setup(args: argparse.Namespace, cache: Cache) -> int:
    done = setups.ensure(cache, _options(args))
    facts = setups.summary(cache, done)
    lines = [
        f"Set-up is complete in {facts['cache']}.",
        f"  compiler  {facts['compiler']}",
        f"  DLPack    {facts['dlpack_include']}",
    ]
    lines += [f"  CPython   {name}: {path}" for name, path in done.manifests.items()]
    _emit(args, facts, "\n".join(lines))
    return CLEAN


def doctor(args: argparse.Namespace, cache: Cache) -> int:
    checks = doctors.examine(cache)
    _emit(args, {"checks": [dataclasses.asdict(check) for check in checks]}, doctors.text(checks))
    return CLEAN if all(check.ok for check in checks) else FAILED


def build(args: argparse.Namespace, cache: Cache) -> int:
    if args.preset and args.sanitizer:
        raise Failure("Expected either --sanitizer or --preset, found both; leave one out.")
    presets = [args.preset] if args.preset else [args.sanitizer] if args.sanitizer else list(setups.Options().sanitizers)
    setups.ensure(cache)
    progress = Progress(len(presets), cache.logs)
    built = [builds.build(cache, preset, args.target or [], progress) for preset in presets]
    _emit(
        args,
        {"builds": [{"preset": one.preset, "folder": str(one.folder)} for one in built]},
        "\n".join(f"built {one.folder}" for one in built),
    )
    return CLEAN


def _built(
    cache: Cache, sanitizers: list[str], names: Sequence[str] = (), choices: targets.Choices = targets.Choices()
) -> dict[str, targets.Target]:
    """All targets that there are, after a build of those named, or of all; set-up comes first where that is missing."""
    progress = Progress(len(sanitizers), cache.logs)
    _check_choices([binary for binary in _binaries(names, interpreter.SANITIZERS) if not targets.outdated(binary)], choices)
    targets.check_twin(choices.twin)
    for sanitizer in sanitizers:
        builds.build(cache, sanitizer, list(names) or [builds.FUZZ], progress)
        if sanitizer == sanitizers[0]:
            _check_choices(_binaries(names, [sanitizer]), choices)
    return targets.built()


def _binaries(names: Sequence[str], sanitizers: Sequence[str]) -> list[Path]:
    return [binary for name in names for one in sanitizers if (binary := builds.binary(name, one)).exists()]


def _check_choices(binaries: Sequence[Path], choices: targets.Choices) -> None:
    """Refuses a twin or a carrier that a target does not take as soon as one can be asked: before the rest is built."""
    if choices.twin or choices.carrier:
        for binary in {binary.name: binary for binary in binaries}.values():  # each target once
            targets.check(binary, choices)


def _sanitizers(args: argparse.Namespace) -> list[str]:
    return [args.sanitizer] if args.sanitizer else list(interpreter.SANITIZERS)


def list_targets(args: argparse.Namespace, cache: Cache) -> int:
    """Without a name it builds nothing: whoever asks what there is should not wait for minutes."""
    everything = targets.built()
    lacking = [name for name in dict.fromkeys(map(targets.choose_target, args.names)) if name not in everything]
    if lacking:
        setups.ensure(cache)
        builds.build(cache, interpreter.SANITIZERS[0], lacking, Progress(1, cache.logs))
        everything = targets.built()
    if not args.names:
        everything = {name: everything.get(name, targets.Target(name)) for name in sorted({*targets.declared(), *everything})}
    chosen = {name: everything[targets.choose_target(name, list(everything))] for name in args.names} or everything
    text = listing.details(chosen) if args.names else listing.overview(chosen)
    _emit(args, listing.data(chosen), text)
    return CLEAN


def fuzz(args: argparse.Namespace, cache: Cache) -> int:
    choices = targets.Choices(
        "" if args.twin == targets.SAFE else args.twin or "",
        args.strategy or "",
        args.granularity or "",
        "" if args.parameter is None else str(args.parameter),
        args.carrier or "",
    )
    for name in args.names:  # before anything is built: a slip of the pen should not cost minutes
        targets.choose_target(name)
    sanitizers = _sanitizers(args)
    everything = _built(cache, sanitizers, list(dict.fromkeys(args.names)), choices)
    # Canaries are there to test the detectors; they are fuzzed when asked for by name or twin.
    chosen = targets.select(args.names, everything if args.names or choices.twin else canaries.others(everything), choices.twin)
    jobs = [campaign.Job(target, sanitizer) for target in chosen for sanitizer in sanitizers if sanitizer in target.binaries]
    start, plan = time.monotonic(), campaign.Plan(args.time, args.seed, choices)
    with children.interruptions() as asked:  # until all is said
        interrupted = campaign.Campaign(cache, jobs, plan).run(campaign.Display(sys.stderr), asked)
        said = campaign.text(jobs, interrupted, time.monotonic() - start, choices.twin)
        _emit(args, campaign.summary(jobs, interrupted), said)
    return campaign.exit_code(jobs, interrupted)


@contextlib.contextmanager
def _of_several(args: argparse.Namespace) -> Iterator[None]:
    """One file that cannot be run stops all: what is said of the others would hide it."""
    try:
        yield
    except Failure as failure:
        if len(args.files) == 1 and not Path(args.files[0]).is_dir():
            raise
        stop = "" if str(failure)[-1:] in ".?" else "."
        raise Failure(f"{failure}{stop} No file was run.") from failure


def _located(args: argparse.Namespace, cache: Cache) -> list[tuple[Path, findings.Origin]]:
    """The files, each with how it is to be run; targets that are missing are built, when the files are known to be cases."""
    flags = findings.Origin(args.target or "", args.sanitizer or "", args.twin or "", args.carrier or "")
    with _of_several(args):
        paths = [path.resolve() for name in args.files for path in findings.resolve(name)]
        notes = [note for path in paths if (note := findings.read(path))]
        located = [(path, replays.locate(path, flags, args.verb)) for path in paths]
    needed = {(origin.sanitizer, origin.target) for _, origin in located}
    lacking = [pair for pair in sorted(needed) if not builds.binary(pair[1], pair[0]).exists()]
    progress = Progress(len(lacking), cache.logs)
    if lacking:
        with _of_several(args):
            replays.check_twins(located)
    for sanitizer, target in lacking:
        builds.build(cache, sanitizer, [target], progress)
    with _of_several(args):
        replays.check(located)
    for note in notes:
        print(note, file=sys.stderr)
    return located


def _replays(args: argparse.Namespace, cache: Cache, times: int, why: bool) -> list[replays.Result]:
    return [replays.replay(path, origin, times, why) for path, origin in _located(args, cache)]


def replay(args: argparse.Namespace, cache: Cache) -> int:
    results = _replays(args, cache, args.times, why=False)
    _emit(args, replays.summary(results), replays.text(results))
    return replays.exit_code(results)


def explain(args: argparse.Namespace, cache: Cache) -> int:
    if args.text:
        cases = [{"file": str(path), "text": twin_cases.as_regression(path, origin)} for path, origin in _located(args, cache)]
        _emit(args, {"cases": cases}, "\n".join(case["text"] for case in cases).rstrip())
        return CLEAN
    results = _replays(args, cache, 1, why=True)
    found = [{"file": str(r.file), "signature": r.signature, "text": r.report} for r in results]
    _emit(args, {"findings": found}, "\n".join(r.report or replays.verdict(r) for r in results))
    return replays.exit_code(results)


def coverage(args: argparse.Namespace, cache: Cache) -> int:
    names = [targets.choose_target(name) for name in args.names] or coverages.default_targets()
    builds.build(cache, builds.COVERAGE, names, Progress(1, cache.logs))
    found = coverages.measure(names)
    _emit(args, coverages.summary(found), coverages.text(found))
    return CLEAN


def bench(args: argparse.Namespace, cache: Cache) -> int:
    if args.kind == "throughput":
        progress = Progress(2 * len(_sanitizers(args)), cache.logs)
        for sanitizer in _sanitizers(args):
            builds.build(cache, sanitizer, [benches.THROUGHPUT], progress)
        result = benches.throughput(_sanitizers(args), progress)
        _emit(args, result, benches.throughput_text(result))
        return CLEAN
    everything = _built(cache, _sanitizers(args))
    for target in everything.values():
        target.binaries = {name: path for name, path in target.binaries.items() if name in _sanitizers(args)}
    result = benches.replays(everything, args.findings, args.times)
    _emit(args, result, benches.replays_text(result))
    return CLEAN if result["findings"] == args.findings and not result["failures"] else FAILED


def test(args: argparse.Namespace, cache: Cache) -> int:
    names = [targets.choose_target(name) for name in args.target or []]
    stages = suite.run(cache, args.update_golden, args.only or [], names)
    _emit(args, suite.summary(stages), suite.closing(stages))
    return FAILED if any(stage.failed for stage in stages) else CLEAN
