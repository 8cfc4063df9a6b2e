"""The fuzz targets that were built: what they say of themselves, and how they are started."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_tool import builds, comments, interpreter, machine, places, toolchain
from handoff_tool.outcome import Failure, choose, unknown
from handoff_tool.places import ROOT

STRATEGIES = ["bytes", "random", "pct", "pos", "surw", "listed", "free"]
GRANULARITIES = ["op", "sync", "access"]
CARRIERS = ["fiber", "thread"]
SAFE = comments.SAFE  # the name for no twin
CANARY = "canary_"  # how their names begin
OUTSIDE = "One from outside of this tree is run by its own program: PROGRAM FILE (harness/subjects/README.md, 'Running it')."
CORPUS = ROOT / "corpus"  # committed cases: <target>/seed, <target>/regression


@dataclass
class Target:
    name: str
    summary: str = ""
    carrier: str = ""
    operations: list[Any] = field(default_factory=list)
    twins: list[dict[str, str]] = field(default_factory=list)
    binaries: dict[str, Path] = field(default_factory=dict)  # by sanitizer

    def twin_names(self) -> list[str]:
        return [twin["name"] for twin in self.twins]


@dataclass(frozen=True)
class Choices:
    """What reaches a target beyond libFuzzer's own flags; empty means: as the case says."""

    twin: str = ""
    strategy: str = ""
    granularity: str = ""
    parameter: str = ""
    carrier: str = ""

    def environment(self) -> dict[str, str]:
        named = {
            "HANDOFF_TWIN": self.twin,
            "HANDOFF_STRATEGY": self.strategy,
            "HANDOFF_GRANULARITY": self.granularity,
            "HANDOFF_PARAMETER": self.parameter,
            "HANDOFF_CARRIER": self.carrier,
        }
        return {name: value for name, value in named.items() if value}


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without stray HANDOFF_* settings, plus ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANDOFF_")}
    chain = toolchain.find()
    symbolizer = chain.tool("llvm-symbolizer") if chain else None
    if symbolizer:  # the sanitizers look for a plain `llvm-symbolizer` on PATH
        kept["PATH"] = f"{Path(symbolizer).parent}:{kept.get('PATH', '')}"
    return kept | {"DEBUGINFOD_URLS": ""} | dict(extra)


def seeds(target: str) -> list[Path]:
    """The committed seeds, if there are any, as libFuzzer takes them."""
    folder = CORPUS / target / "seed"
    return [folder] if folder.is_dir() else []


def command(binary: Path, *words: str | Path) -> list[str]:
    return [*machine.without_randomisation(), str(binary), *map(str, words)]


def _describe(binary: Path) -> dict[str, Any]:
    try:
        answer = subprocess.run(
            command(binary), capture_output=True, text=True, timeout=60, env=environment({"HANDOFF_DESCRIBE": "1"})
        )
        return dict(json.loads(answer.stdout))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{binary} does not describe itself ({error}); build it again with '{places.command()} build'.") from error


def declared() -> list[str]:
    """All targets by the names of their files, built or not."""
    plain = [path.stem for path in (ROOT / "fuzz").glob("*.cc")]
    return sorted(plain + [f"{CANARY}{path.stem}" for path in (ROOT / "fuzz" / "canary").glob("*.cc")])


def names_text(names: Sequence[str]) -> str:
    """The targets proper; the canaries, of which there are more, in a number."""
    proper = [name for name in names if not name.startswith(CANARY)]
    count = len(names) - len(proper)
    canaries = [f"{count} canar{'y' if count == 1 else 'ies'} ({CANARY}...)"] if count else []
    return " and ".join(filter(None, [", ".join(proper), *canaries])) or "(none)"


def choose_target(name: str, valid: Sequence[str] | None = None) -> str:
    """Returns `name`, or fails with what would have been valid: any target of this tree if `valid` is None."""
    names = declared() if valid is None else valid
    if name in names:
        return name
    raise Failure(f"{unknown('target', name, names)}; expected one of: {names_text(names)}. {OUTSIDE}")


def _sources() -> list[Path]:
    return [path for name in ("fuzz", "harness") for path in (ROOT / name).rglob("*.*") if path.suffix in (".cc", ".h")]


def outdated(binary: Path) -> bool:
    """Whether a build may change what a target says of itself."""
    built_at = binary.stat().st_mtime
    return any(path.stat().st_mtime > built_at for path in _sources())


def check_twin(twin: str) -> None:
    """Fails where no target can have this twin, however much is built: its name stands in no source, and in no target that is
    built."""
    word = f'"{twin}"'
    if not twin or any(word in path.read_text(errors="replace") for path in _sources()):
        return
    known = [*sorted({name for target in built().values() for name in target.twin_names()}), SAFE]
    if twin not in known:
        raise Failure(f"{unknown('twin', twin, known)}; no source in fuzz/ or harness/ has it. '{places.command()} list TARGET' shows those of one.")


def check(binary: Path, choices: Choices) -> None:
    """Fails where the target does not take these choices; of a carrier that it does not take it knows the reason itself."""
    if choices.twin:
        choose(f"twin of {binary.name},", choices.twin, [*(twin["name"] for twin in _describe(binary).get("twins", [])), SAFE])
    if choices.carrier:
        choose("carrier", choices.carrier, CARRIERS)
    answer = subprocess.run(
        command(binary), capture_output=True, text=True, env=environment(choices.environment() | {"HANDOFF_DESCRIBE": "1"})
    )
    if answer.returncode != 0:
        said = answer.stderr.strip().splitlines()
        raise Failure(f"{binary.name}: {said[-1] if said else f'ended with exit code {answer.returncode}'}")


def built() -> dict[str, Target]:
    """All targets found in the build folders, by name. Empty before the first build."""
    found: dict[str, Target] = {}
    for sanitizer in interpreter.SANITIZERS:
        for binary in sorted((builds.folder(sanitizer) / "fuzz").glob("*")):
            if not binary.is_file() or binary.suffix or not os.access(binary, os.X_OK):
                continue
            if binary.name not in found:
                facts = _describe(binary)
                known = {name: facts[name] for name in ("summary", "carrier", "operations", "twins") if name in facts}
                found[binary.name] = Target(binary.name, **known)
            found[binary.name].binaries[sanitizer] = binary
    return dict(sorted(found.items()))


def select(names: list[str], everything: dict[str, Target], twin: str = "") -> list[Target]:
    """The targets asked for; with a twin and no names, those that have it."""
    if not everything:
        raise Failure(f"No target is built; run '{places.command()} build'.")
    chosen = [everything[choose_target(name, list(everything))] for name in dict.fromkeys(names)] or list(everything.values())
    if not twin:
        return chosen
    having = [target for target in chosen if twin in target.twin_names()]
    if not having or (names and len(having) < len(chosen)):
        choose("twin", twin, sorted({name for target in chosen if target not in having for name in target.twin_names()}))
    return having
