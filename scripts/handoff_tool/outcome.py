"""Exit codes of every verb, and the one exception that ends a verb with a sentence."""

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

CLEAN = 0
FAILED = 1  # usage, set-up, or a failed test
TIMEOUT = 70
OUT_OF_MEMORY = 71
INTERRUPTED = 72
FINDING = 77

FAILING = (FINDING, TIMEOUT, OUT_OF_MEMORY)  # how a target says that it has found something

# libFuzzer's own numbers, so that a target run by hand and the command agree.
NAMES = {
    CLEAN: "clean",
    FAILED: "error",
    TIMEOUT: "timeout",
    OUT_OF_MEMORY: "out of memory",
    INTERRUPTED: "interrupted",
    FINDING: "finding",
}


class Failure(Exception):
    """Ends the verb with exit code 1; the text is the one sentence a person reads."""


@contextlib.contextmanager
def about(path: Path) -> Iterator[None]:
    """A failure inside is told of this file."""
    try:
        yield
    except Failure as failure:
        raise Failure(f"{path}: {failure}") from failure


def choose(kind: str, wanted: str, valid: Sequence[str]) -> str:
    """Returns `wanted`, or fails with the nearest of what would have been valid, and the list of it."""
    if wanted in valid:
        return wanted
    raise Failure(f"{unknown(kind, wanted, valid)}; expected one of: {', '.join(valid) or '(none built)'}.")


def unknown(kind: str, wanted: str, valid: Sequence[str]) -> str:
    """How such a failure begins: the nearest first, as the list may be long."""
    near = difflib.get_close_matches(wanted, valid, 1)
    return f"Unknown {kind} '{wanted}'" + (f" (did you mean '{near[0]}'?)" if near else "")
