"""`replay` and `explain`: the same file again, each time as the first run of a fresh process."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_tool import builds, findings, machine, process, targets
from handoff_tool.outcome import CLEAN, FINDING, NAMES, OUT_OF_MEMORY, TIMEOUT, Failure, choose
from handoff_tool.output import Output

LIMIT = 120.0  # seconds for one run, start of an interpreter included
_FAILING = (FINDING, TIMEOUT, OUT_OF_MEMORY)


@dataclass
class Result:
    file: Path
    origin: findings.Origin
    of: int
    codes: list[int] = field(default_factory=list)
    signature: str = ""
    report: str = ""

    @property
    def replayed(self) -> int:
        return sum(code in _FAILING for code in self.codes)


def locate(name: str, flags: findings.Origin, everything: dict[str, targets.Target]) -> tuple[Path, findings.Origin]:
    """The file and how to run it; flags win over what lies beside the file or in it."""
    path = findings.resolve(name).resolve()
    origin = findings.origin(path)
    for field_name in ("target", "sanitizer", "twin", "carrier"):
        setattr(origin, field_name, getattr(flags, field_name) or getattr(origin, field_name))
    if not origin.target:
        raise Failure(f"{name}: its target cannot be told from its place; give --target, one of: {', '.join(everything)}.")
    chosen = targets.select([origin.target], everything)[0]
    if origin.twin:
        choose("twin", origin.twin, chosen.twin_names())
    origin.sanitizer = origin.sanitizer or next(iter(chosen.binaries))
    choose(f"sanitizer for {origin.target}", origin.sanitizer, list(chosen.binaries))
    return path, origin


def once(path: Path, origin: findings.Origin, why: bool = False, timeout: int | None = None) -> tuple[int, Output]:
    """One fresh process; a replay writes nothing beside the file. `why` has it look for the switch that matters; `timeout` is the
    limit of one execution in seconds, the target's own if None."""
    output = Output()
    environment = targets.Choices(twin=origin.twin, carrier=origin.carrier).environment() | ({"HANDOFF_WHY": "1"} if why else {})
    with tempfile.TemporaryDirectory(prefix="handoff-replay-") as folder:
        flags = [f"-artifact_prefix={folder}/"] + ([f"-timeout={timeout}"] if timeout else [])
        binary = builds.binary(origin.target, origin.sanitizer)
        child = process.Process(binary, [*flags, path], environment, Path(folder))
        return child.follow(output.feed, LIMIT), output


def replay(path: Path, origin: findings.Origin, times: int, why: bool = False, timeout: int | None = None) -> Result:
    result = Result(path, origin, times, signature=origin.signature)
    with ThreadPoolExecutor(machine.cores()) as pool:
        for code, output in pool.map(lambda _: once(path, origin, why, timeout), range(times)):
            if code not in (CLEAN, *_FAILING):
                printed = output.report().strip().splitlines()
                raise Failure(printed[-1] if printed else f"{path}: the target ended with exit code {code}.")
            result.codes.append(code)
            if code in _FAILING and not result.report:
                result.report, result.signature = output.finding_text(), output.signature()
    return result


def exit_code(results: list[Result]) -> int:
    codes = [code for result in results for code in result.codes if code in _FAILING]
    return FINDING if FINDING in codes else codes[0] if codes else CLEAN


def summary(results: list[Result]) -> dict[str, Any]:
    files = [
        {
            "file": str(r.file),
            "target": r.origin.target,
            "sanitizer": r.origin.sanitizer,
            "twin": r.origin.twin,
            "replayed": r.replayed,
            "of": r.of,
            "signature": r.signature,
        }
        for r in results
    ]
    return {
        "replayed": sum(r.replayed for r in results),
        "of": sum(r.of for r in results),
        "signature": results[0].signature if len(results) == 1 else None,
        "files": files,
    }


def verdict(result: Result) -> str:
    where = f"{result.origin.target}, {result.origin.sanitizer}" + (f", twin {result.origin.twin}" if result.origin.twin else "")
    if not result.replayed:
        return f"{result.file.name}: did not fail again in {result.of} fresh process{'' if result.of == 1 else 'es'} ({where})."
    names = sorted({NAMES.get(code, str(code)) for code in result.codes if code in _FAILING})
    return f"{result.file.name}: {result.replayed} of {result.of} failed again ({where}; {', '.join(names)})."


def text(results: list[Result]) -> str:
    return "\n".join([part for result in results for part in (result.report, verdict(result)) if part])
