"""What a campaign found: one folder a signature and twin under findings/<target>/, and the way back from a file to its target."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from handoff_tool import builds, comments
from handoff_tool.outcome import Failure
from handoff_tool.places import ROOT, write_atomically

FOLDER = ROOT / "findings"
META, REPORT = "meta.json", "report.txt"
# What a target writes begins as a case does, but for a time-out on an input of other origin. Fuzzers' inputs, which are any bytes,
# are known by the names that fuzzers give: what was found and a hash, or the SHA-1 of a corpus file.
_RAW = re.compile(r"(crash|timeout|oom|leak|slow-unit|unconfirmed)-.+|[0-9a-f]{40}")
LARGEST = 1_000_000  # bytes: a case with everything that the limits allow takes a tenth of that
TEXT, BINARY = comments.TEXT, b"\xca\x5e"  # how the two forms of a case begin


@dataclass
class Origin:
    """What a case does not say itself, and a replay must know."""

    target: str = ""
    sanitizer: str = ""
    twin: str = ""
    carrier: str = ""  # empty: the target's own
    signature: str = ""
    confirmed: bool = True
    seen: int = 1  # how many times a campaign ran into it
    build: str = ""  # build_of() when it was found


_TYPES: dict[str, type] = {field.name: type(field.default) for field in fields(Origin)} | {"found": str}  # of what META holds
_TYPE_NAMES = {str: "text", int: "a whole number", bool: "true or false"}


def folder_name(signature: str) -> str:
    """A signature as a name that every file system takes; a hash keeps cut or altered ones apart."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "_", signature).strip("_.")[:100]
    return plain if plain == signature else f"{plain}-{hashlib.sha256(signature.encode()).hexdigest()[:8]}"


def place_of(origin: Origin, root: Path | None = None) -> Path:
    kind = "" if origin.confirmed else "unconfirmed-"
    twin = f"--{origin.twin}" if origin.twin else ""
    return (root or FOLDER) / origin.target / f"{kind}{folder_name(origin.signature)}{twin}"


def build_of(target: str, sanitizer: str) -> str:
    """A hash of the target as it is built now, or "" where it is not."""
    try:
        with builds.binary(target, sanitizer).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError:
        return ""


def keep(origin: Origin, case: Path, report: str, root: Path | None = None) -> tuple[Path, bool]:
    """Moves a crash file to where it belongs; returns its folder and whether it is new.

    Of two files the one of fewer bytes stays, which is easier to read, and of two of one size the first. But of a file that was
    found before its target was built anew nobody knows whether it still fails: whatever comes replaces it. `seen` counts all.
    What is confirmed replaces the same unconfirmed.
    """
    folder, new = _keep(origin, case, report, place_of(origin, root))
    if origin.confirmed:
        _remove_unconfirmed(replace(origin, confirmed=False), root)
    return folder, new


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Makes the folder, for one holder: two jobs of one target may find the same thing at once. Whoever waits while it is removed
    makes it anew."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = (folder / ".lock").open("w")
        except FileNotFoundError:
            continue
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock.fileno()).st_nlink:
                yield
                return


def _remove_unconfirmed(origin: Origin, root: Path | None) -> None:
    folder = place_of(origin, root)
    if folder.is_dir():
        with _locked(folder):
            facts = _facts(folder)
            if all(facts.get(name) == getattr(origin, name) for name in ("target", "twin", "signature")):  # not only its name
                shutil.rmtree(folder, ignore_errors=True)  # what cannot go stays, and is no loss


def _keep(origin: Origin, case: Path, report: str, folder: Path) -> tuple[Path, bool]:
    with _locked(folder):
        before = _facts(folder)
        known = before.get("twin") == origin.twin
        facts = asdict(origin) | {"build": build_of(origin.target, origin.sanitizer), "found": time.strftime("%Y-%m-%d %H:%M:%S")}
        if known:
            facts |= {"seen": before.get("seen", 0) + origin.seen, "found": before.get("found", facts["found"])}
        if known and _stays(folder, before, case):
            write_atomically(folder / META, json.dumps(before | {"seen": facts["seen"]}, indent=1) + "\n")
            case.unlink()
            return folder, False
        place = folder / case.name
        arriving, told = folder / f".{case.name}", folder / f".{REPORT}"
        moved = _moved(report, case, place.relative_to(ROOT) if place.is_relative_to(ROOT) else place)
        try:  # a full disk must lose nothing: until all is written, the case stays where it is, and here what was here before
            shutil.copyfile(case, arriving)
            told.write_text(moved)
            write_atomically(folder / META, json.dumps(facts, indent=1) + "\n")
        except OSError:
            arriving.unlink(missing_ok=True)
            told.unlink(missing_ok=True)
            raise
        told.rename(folder / REPORT)
        arriving.rename(place)
        case.unlink()
        for old in case_files(folder):
            if old != place:
                old.unlink()
        return folder, not known


def _stays(folder: Path, facts: dict[str, Any], case: Path) -> bool:
    """Whether the one file that is kept in `folder` is of the target as it is built now, and not larger than `case`."""
    there = case_files(folder)
    if len(there) != 1 or there[0].stat().st_size > case.stat().st_size:
        return False
    build = facts.get("build", "")
    return bool(build) and build == build_of(facts.get("target", ""), facts.get("sanitizer", ""))


def _moved(report: str, case: Path, place: Path) -> str:
    """The report of a case that now lies elsewhere. Commands name the folder, where another file may replace this one."""
    lines = report.splitlines(keepends=True)
    return "".join(line.replace(str(case), str(place.parent if "scripts/handoff " in line else place)) for line in lines)


def _facts(folder: Path) -> dict[str, Any]:
    """For those who only write: what lies beside a file may be anybody's, and only what has the type that we write counts."""
    try:
        facts = json.loads((folder / META).read_text())
    except (OSError, ValueError, RecursionError):  # the last: brackets in brackets
        return {}
    return {name: value for name, value in facts.items() if type(value) is _TYPES.get(name)} if isinstance(facts, dict) else {}


def _odd_meta(folder: Path) -> str:
    """What is found where a replay expects how a case is run; "" if that can be read, or if there is nothing at all."""
    path = folder / META
    if not os.path.lexists(path):
        return ""
    if not path.is_file():
        return "a folder" if path.is_dir() else "no file"
    try:
        text = path.read_text()
        facts = json.loads(text)
    except OSError as error:
        return f"a file that cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        return "no text"
    except (ValueError, RecursionError):
        return "text that is no JSON" if text.strip() else "an empty file"
    if not isinstance(facts, dict):
        return "other JSON"
    for name, kind in _TYPES.items():
        if name in facts and type(facts[name]) is not kind:
            return f"a '{name}' that is not {_TYPE_NAMES[kind]}"
    return "" if facts.get("target") else "no 'target' in it"


def read_meta(folder: Path) -> Origin | None:
    facts = _facts(folder)
    return Origin(**{name: facts[name] for name in Origin.__dataclass_fields__ if name in facts}) if facts else None


def case_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file()
        and path.name not in (META, REPORT)
        and path.suffix not in (".html", ".cc", ".py")
        and not path.name.startswith(".")
    )


def resolve(name: str) -> list[Path]:
    """A case file; the cases of a folder; or those of all findings below it."""
    if not name:
        raise Failure("expected a case file or a folder, found an empty name.")
    path = Path(name)
    if path.is_dir():
        inside = case_files(path) or [case for meta in sorted(path.rglob(META)) for case in case_files(meta.parent)]
        inside = inside or [file for file in sorted(path.rglob("*.txt")) if file.is_file() and comments.is_text(file)]
        if not inside:
            raise Failure(f"{name}: expected a case file, or a folder with cases or findings in it, found a folder without any.")
        return inside
    if not path.is_file():
        raise Failure(f"{name}: expected a case file, found nothing there.")
    if path.name in (META, REPORT):
        raise Failure(f"{name}: expected a case file, found what is kept beside one; name the folder {path.parent} instead.")
    return [path]


def read(path: Path) -> str:
    """What is odd about a file that will be read as a binary case, in a sentence; fails where that cannot be meant."""
    size = path.stat().st_size
    if size > LARGEST:
        raise Failure(f"{path}: expected a case, of at most {LARGEST:,} bytes, found {size:,}.")
    data = path.read_bytes()
    if data.startswith(TEXT) or (data.startswith(BINARY) and path.suffix.lower() != ".txt"):
        return ""
    if not data:
        raise Failure(f"{path}: expected a case, found an empty file.")
    first = data[:200].split(b"\n")[0]
    printable = all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data[:4096])
    if b"hand" in first.lower() or (printable and b"handoff" in data[:4096].lower()):
        raise Failure(
            f"{path}: expected '{TEXT.decode()} 1' as the first line of a text case, with nothing before it, "
            f"found {first.decode(errors='replace')!r}."
        )
    if path.suffix.lower() == ".txt":
        raise Failure(
            f"{path}: expected a text case, which begins with '{TEXT.decode()} 1', as its name ends in {path.suffix}, "
            "found none; add that line, or give a binary case another name."
        )
    if not _RAW.fullmatch(path.name) and not (read_meta(path.parent) or Origin()).target:
        found = repr(first[:40].decode()) if printable else f"the bytes {data[:4].hex(' ')}"
        raise Failure(
            f"{path}: expected a text case, which begins with '{TEXT.decode()} 1', or a binary one, which begins with the bytes "
            f"{BINARY.hex(' ')}, found {found}; a target that is run by hand takes any bytes: build/thread/fuzz/TARGET FILE."
        )
    return f"{path}: neither a text case nor one that a target wrote; read as a binary case of {len(data)} bytes."


def origin(path: Path, flags: Origin | None = None) -> Origin:
    """From the meta.json beside a file, else from its place in findings/ or corpus/, and from the comments of a text case.

    What they contradict each other in `flags` must say.
    """
    parts = path.resolve().parts
    at = max((i for i, name in enumerate(parts[:-2]) if name in ("findings", "corpus")), default=-1)
    # What is committed says all in its place and its comments.
    odd = "" if at >= 0 and parts[at] == "corpus" else _odd_meta(path.parent)
    # Without it a twin's case would run on the safe target and pass: whoever names the target says the rest as well.
    if odd and not (flags and flags.target):
        raise Failure(
            f"{path}: expected {META} beside it to be a JSON object that names its target, found {odd}; give --target, "
            f"--sanitizer and --twin, which then win ({REPORT} has them under REPLAY), or move the case elsewhere."
        )
    found, source = (None if odd else read_meta(path.parent)) or Origin(), f"{META} beside it says"
    if not found.target and at >= 0:
        found.target = parts[at + 1]
        source = f"it lies in {parts[at]}/{found.target}"
    for word, name in comments.read(path).items():
        if word == comments.FINDS:
            continue
        # On another twin, sanitizer or carrier anybody may try it; the operations of another target are not these.
        if word == "target" and flags and flags.target not in ("", name):
            raise Failure(
                f"{path}: expected no other --target than {name}, as its comment '# target: {name}' says, found '--target {flags.target}'; "
                "leave the flag out, or correct the comment."
            )
        beside = getattr(found, word)
        if beside not in ("", name) and not getattr(flags, word, ""):
            found_it = f"found '# {word}: {name}'; correct the comment or move the file."
            raise Failure(f"{path}: expected '# {word}: {beside}', as {source}, {found_it}")
        setattr(found, word, name)
    return found
