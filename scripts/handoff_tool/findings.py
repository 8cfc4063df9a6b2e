"""What a campaign found: one folder a signature under findings/<target>/, and the way back from a file to its target."""

import fcntl
import hashlib
import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from handoff_tool.outcome import Failure
from handoff_tool.places import ROOT, write_atomically

FOLDER = ROOT / "findings"
META, REPORT = "meta.json", "report.txt"


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


def folder_name(signature: str) -> str:
    """A signature as a name that every file system takes; a hash keeps cut or altered ones apart."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "_", signature).strip("_.")[:100]
    return plain if plain == signature else f"{plain}-{hashlib.sha256(signature.encode()).hexdigest()[:8]}"


def keep(origin: Origin, case: Path, report: str, root: Path | None = None) -> tuple[Path, bool]:
    """Moves a crash file to where it belongs; returns its place and whether the signature is new."""
    kind = "" if origin.confirmed else "unconfirmed-"
    folder = (root or FOLDER) / origin.target / (kind + folder_name(origin.signature))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:  # two jobs of one target may find the same thing at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / META).exists():
            facts = json.loads((folder / META).read_text())
            write_atomically(folder / META, json.dumps(facts | {"seen": facts["seen"] + 1}, indent=1) + "\n")
            old = next(iter(case_files(folder)), case)
            case.unlink(missing_ok=True)
            return old, False
        place = folder / case.name
        shutil.move(case, place)
        shown = place.relative_to(ROOT) if place.is_relative_to(ROOT) else place
        (folder / REPORT).write_text(report.replace(str(case), str(shown)))  # the command under REPLAY names it
        write_atomically(
            folder / META, json.dumps(asdict(origin) | {"found": time.strftime("%Y-%m-%d %H:%M:%S")}, indent=1) + "\n"
        )
        return place, True


def read_meta(folder: Path) -> Origin | None:
    try:
        facts = json.loads((folder / META).read_text())
    except (OSError, ValueError):
        return None
    return Origin(**{name: facts[name] for name in Origin.__dataclass_fields__ if name in facts})


def case_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file()
        and path.name not in (META, REPORT)
        and path.suffix not in (".html", ".cc", ".py")
        and not path.name.startswith(".")
    )


def resolve(name: str) -> Path:
    """A case file, or the folder of a finding, which holds one."""
    path = Path(name)
    if path.is_dir():
        inside = case_files(path)
        if len(inside) != 1:
            raise Failure(
                f"{name}: expected a case file or the folder of one finding, found a folder with {len(inside)} candidates."
            )
        return inside[0]
    if not path.is_file():
        raise Failure(f"{name}: expected a case file, found nothing there.")
    return path


def origin(path: Path) -> Origin:
    """From the meta.json beside a file, else from its place in findings/ or corpus/, and from the comments of a text case."""
    found = read_meta(path.parent) or Origin()
    if not found.target:
        parts = path.resolve().parts
        for top in ("findings", "corpus"):
            if top in parts[:-2]:
                found.target = parts[len(parts) - 1 - parts[::-1].index(top) + 1]
    head = path.read_bytes()[:4096]
    if head.startswith(b"handoff case"):
        for name, value in re.findall(r"^#\s*(target|twin|sanitizer):?\s+(\S+)\s*$", head.decode(errors="replace"), re.M):
            if not getattr(found, name):
                setattr(found, name, value)
    return found
