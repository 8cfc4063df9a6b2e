"""`replay` and `explain`: the same file again, each time as the first run of a fresh process."""

import shlex
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_tool import builds, children, comments, findings, interpreter, process, targets
from handoff_tool.outcome import CLEAN, FAILING, FINDING, NAMES, Failure, about, choose
from handoff_tool.output import Output
from handoff_tool.places import ROOT, command

UNUSED = "was never reached"  # the harness's phrase for a switch of a text case
LIMIT = 120.0  # seconds for one run, start of an interpreter included


@dataclass
class Result:
    file: Path
    origin: findings.Origin
    of: int
    codes: list[int] = field(default_factory=list)
    signature: str = ""
    report: str = ""
    found: str = ""  # kind and rule
    notes: list[str] = field(default_factory=list)  # of a text case that passed: switches of no use

    @property
    def replayed(self) -> int:
        return sum(code in FAILING for code in self.codes)


def locate(path: Path, flags: findings.Origin, verb: str = "replay") -> findings.Origin:
    """How to run a file; flags win over what lies beside the file or in it. Its target may not be built yet."""
    origin = findings.origin(path, flags)
    for field_name in ("target", "sanitizer", "twin", "carrier"):
        setattr(origin, field_name, getattr(flags, field_name) or getattr(origin, field_name))
    origin.twin = "" if origin.twin == targets.SAFE else origin.twin
    if not origin.target:
        command, valid = _whole_command(path, origin, verb), targets.names_text(targets.declared())
        raise Failure(
            f"{path}: its target cannot be told from its place; run: {command} (the report printed with the file has it under "
            f"REPLAY). TARGET is one of: {valid}. {targets.OUTSIDE}"
        )
    with about(path):
        targets.choose_target(origin.target)
        if origin.sanitizer:
            choose("sanitizer", origin.sanitizer, interpreter.SANITIZERS)
        if origin.carrier:
            choose("carrier", origin.carrier, targets.CARRIERS)
    built = [name for name in interpreter.SANITIZERS if builds.binary(origin.target, name).exists()]
    origin.sanitizer = origin.sanitizer or (built or interpreter.SANITIZERS)[0]
    return origin


def _whole_command(path: Path, origin: findings.Origin, verb: str) -> str:
    """For a file whose target is not known. What is known besides is filled in, and [in brackets] what need not be given."""
    words = [command(), verb, shlex.quote(str(path)), "--target TARGET"]
    for word, otherwise in (("sanitizer", "[--sanitizer thread|address]"), ("twin", "[--twin TWIN]"), ("carrier", "")):
        known = getattr(origin, word)
        words.append(f"--{word} {known}" if known else otherwise)
    return " ".join(filter(None, words))


def choices(origin: findings.Origin) -> targets.Choices:
    return targets.Choices(twin=origin.twin, carrier=origin.carrier)


def check_twins(located: list[tuple[Path, findings.Origin]]) -> None:
    """What can be said of them before anything is built."""
    for twin, path in {origin.twin: path for path, origin in reversed(located)}.items():
        with about(path):
            targets.check_twin(twin)


def check(located: list[tuple[Path, findings.Origin]]) -> None:
    """Fails where a target does not take a twin or a carrier, asking each way to run one once, or cannot read a text case."""
    ways = {(origin.sanitizer, origin.target, choices(origin)): path for path, origin in reversed(located)}
    for (sanitizer, target, chosen), path in ways.items():
        with about(path):
            targets.check(builds.binary(target, sanitizer), chosen)
    for path, origin in located:
        if comments.is_text(path):  # any bytes are a binary case
            as_text(path, origin)


def as_text(path: Path, origin: findings.Origin) -> str:
    """The case in text form, with comments that name target, twin and sanitizer."""
    environment = choices(origin).environment() | {"HANDOFF_PRINT_TEXT": "1"}
    words = targets.command(builds.binary(origin.target, origin.sanitizer), path)
    answer = children.call(words, capture_output=True, env=targets.environment(environment))
    if answer.returncode != CLEAN or not answer.stdout:
        said = answer.stderr.strip().splitlines()
        raise Failure(said[-1] if said else f"{path}: the target ended with exit code {answer.returncode} and printed no case.")
    return str(answer.stdout)


def once(path: Path, origin: findings.Origin, why: bool = False, timeout: int | None = None) -> tuple[int, Output]:
    """One fresh process; a replay writes nothing beside the file. `why` has it look for the switch that matters; `timeout` is the
    limit of one execution in seconds, the target's own if None."""
    output = Output()
    environment = choices(origin).environment() | ({"HANDOFF_WHY": "1"} if why else {})
    with tempfile.TemporaryDirectory(prefix="handoff-replay-") as folder:
        flags = [f"-artifact_prefix={folder}/"] + ([f"-timeout={timeout}"] if timeout else [])
        binary = builds.binary(origin.target, origin.sanitizer)
        child = process.Process(binary, [*flags, path], environment, Path(folder))
        return child.follow(output.feed, LIMIT), output


def on_safe(binary: Path, path: Path) -> tuple[int, list[str]]:
    """One fresh process of the safe target, which writes nothing; the exit code and what it said."""
    return process.run(binary, ["-artifact_prefix=/dev/null/", path], {}, ROOT, LIMIT)


def replay(path: Path, origin: findings.Origin, times: int, why: bool = False, timeout: int | None = None) -> Result:
    result = Result(path, origin, times, signature=origin.signature)
    with process.pool() as pool:
        for code, output in pool.map(lambda _: once(path, origin, why, timeout), range(times)):
            if code not in (CLEAN, *FAILING):
                raise Failure(output.last_line() or f"{path}: the target ended with exit code {code}.")
            result.codes.append(code)
            if code in FAILING and not result.report:
                result.report, result.signature, result.found = output.finding_text(), output.signature(), output.found()
            result.notes = result.notes or output.lines_with(UNUSED)
    return result


def exit_code(results: list[Result]) -> int:
    codes = [code for result in results for code in result.codes if code in FAILING]
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
    what = f"twin {result.origin.twin}" if result.origin.twin else targets.SAFE
    where = f"{result.origin.target}, {result.origin.sanitizer}, {what}"
    if not result.replayed:
        again = " again" if result.origin.signature else ""
        return f"{result.file.name}: did not fail{again} in {result.of} fresh process{'' if result.of == 1 else 'es'} ({where})."
    names = sorted({NAMES.get(code, str(code)) for code in result.codes if code in FAILING})
    told = f"{result.file.name}: {result.replayed} of {result.of} failed again ({where}; {', '.join(names)})."
    expected = comments.expected(result.file)
    if expected in ("", result.found):
        return told
    other = f"expected '{expected}', as its comment '# {comments.FINDS}:' says, found '{result.found}'"
    return f"{told}\n{result.file.name}: {other}; correct the comment if this is what is meant."


def text(results: list[Result]) -> str:
    lines = [part for result in results for part in (result.report, *result.notes, verdict(result)) if part]
    if len(results) > 1:
        lines.append(f"{sum(r.replayed > 0 for r in results)} of {len(results)} files failed again.")
    return "\n".join(lines)
