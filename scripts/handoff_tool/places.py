"""Where things are: the checkout, the cache, what the cache holds; and how verbs that run at once share a place."""

import contextlib
import fcntl
import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def short(path: Path) -> str:
    """From the current folder where the path lies below it, as a shell takes it."""
    with contextlib.suppress(ValueError, OSError):  # it lies elsewhere; the current folder has gone
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))


def command() -> str:
    """How this command is started from the current folder, for the lines that it prints to be copied."""
    words = short(ROOT / "scripts" / "handoff")
    return words if "/" in words else f"./{words}"


def write_atomically(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def exclusive(lock: Path, waiting: str) -> Iterator[None]:
    """One holder at a time, whatever process it is; the kernel drops the lock when it dies. Prints `waiting` if it must wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Cache:
    """Everything that is built or gathered outside the checkout; safe to delete as a whole."""

    folder: Path

    @staticmethod
    def find(option: str | None) -> "Cache":
        chosen = option or os.environ.get("HANDOFF_CACHE") or "~/.cache/handoff"
        return Cache(Path(chosen).expanduser().resolve())

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def sources(self) -> Path:
        return self.folder / "sources"

    def corpus(self, target: str) -> Path:
        return self.folder / "corpus" / target

    def settings(self) -> dict[str, Any]:
        """Choices of an earlier `setup` (another Python source, another DLPack folder) that later verbs must keep to."""
        try:
            return dict(json.loads((self.folder / "settings.json").read_text()))
        except (OSError, ValueError):
            return {}

    def remember(self, **choices: str) -> None:
        write_atomically(self.folder / "settings.json", json.dumps(self.settings() | choices, indent=1) + "\n")
