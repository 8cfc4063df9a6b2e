"""The comments of a text case that are read: how it is run (`# target: NAME` and three more), and what must be found on its twin.
All other comments are the author's."""

import difflib
import re
from pathlib import Path

from handoff_tool.outcome import Failure

FINDS = "finds"  # kind and rule of the finding on the twin
WORDS = ("target", "twin", "sanitizer", "carrier", FINDS)
SAFE = "safe"  # the name for no twin
TEXT = b"handoff case"  # how a text case begins
_READ = re.compile(rf"^[ \t]*#[ \t]*({'|'.join(WORDS)})(?::[ \t]*(.*?)|[ \t]+(\S+))[ \t\r]*$", re.M)
_ANY = re.compile(r"^[ \t]*#[ \t]*(\w+):", re.M)


def _text(path: Path) -> str:
    """Of a text case; nothing of any other file, however large."""
    with path.open("rb") as file:
        head = file.read(len(TEXT))
        return (head + file.read()).decode(errors="replace") if head == TEXT else ""


def is_text(path: Path) -> bool:
    return _text(path) != ""


def read(path: Path) -> dict[str, str]:
    """What they say, by their first word; whether there is such a target or twin is not known here. A slip of the pen would run
    the safe target, and pass."""
    said: dict[str, str] = {}
    text = _text(path)
    _check_spelling(path, text)
    for word, after_colon, after_space in _READ.findall(text):
        name = after_colon or after_space
        if not name:
            raise Failure(f"{path}: expected a name behind '# {word}:', found none; add it, or take the line out.")
        if said.setdefault(word, name) != name:
            raise Failure(f"{path}: expected one '# {word}:', found '{said[word]}' and '{name}'; take one of the lines out.")
    return said


def expected(path: Path) -> str:
    """What a case says is found with it, as Output.found() says it; "" if it does not say."""
    return " ".join(read(path).get(FINDS, "").split())


def _check_spelling(path: Path, text: str) -> None:
    """Refuses one whose first word is nearly one of those that are read."""
    for match in _ANY.finditer(text):
        near = difflib.get_close_matches(match[1].lower(), WORDS, 1, cutoff=0.7)
        if near and match[1] not in WORDS:
            line = text.count("\n", 0, match.start()) + 1
            raise Failure(
                f"{path}:{line}: expected a comment that begins with '# {near[0]}:', found '# {match[1]}:'; correct it, or word "
                "it otherwise."
            )
