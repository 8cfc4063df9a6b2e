"""Visible progress: which step, for how long, about how much longer. Long output goes to log files."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from handoff_tool import children
from handoff_tool.outcome import Failure


def seconds_text(seconds: float) -> str:
    whole = int(round(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60:02d} s"


def _of(estimate: float | None, elapsed: float) -> str:
    if estimate is None:
        return ""
    return f" of about {seconds_text(estimate)}" if elapsed <= estimate else f" (estimate was {seconds_text(estimate)})"


def last_line(log: Path) -> str:
    """What a tool said last, cut to a readable length; nearly always the reason."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"


class Progress:
    """Prints to standard error only: standard output belongs to `--json`."""

    def __init__(self, total: int, logs: Path) -> None:
        self._total = total
        self._number = 0
        self._logs = logs
        self._live = sys.stderr.isatty()

    @contextmanager
    def step(self, name: str, estimate: float | None) -> Iterator[None]:
        """`estimate`: seconds; None: nobody knows."""
        self._number += 1
        head = f"[{self._number}/{self._total}] {name}"
        start, done = time.monotonic(), threading.Event()

        def report() -> None:
            # A terminal gets one moving line; a log file a line now and then.
            while not done.wait(0.5 if self._live else 30):
                elapsed = time.monotonic() - start
                text = f"{head}: {seconds_text(elapsed)}{_of(estimate, elapsed)}"
                print(f"\r\x1b[K{text}" if self._live else text, end="" if self._live else "\n", file=sys.stderr, flush=True)

        if not self._live:
            print(head + (f" (about {seconds_text(estimate)})" if estimate else ""), file=sys.stderr, flush=True)
        watcher = threading.Thread(target=report, daemon=True)
        watcher.start()
        word = "failed after"
        try:
            yield
            word = "done in"
        except KeyboardInterrupt:
            word = "stopped after"
            raise
        finally:
            done.set()
            watcher.join()
            print(
                ("\r\x1b[K" if self._live else "") + f"{head}: {word} {seconds_text(time.monotonic() - start)}",
                file=sys.stderr,
                flush=True,
            )

    def run(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Runs one command with all of its output in logs/`log`; a failure names that file."""
        self._logs.mkdir(parents=True, exist_ok=True)
        path = self._logs / log
        words = [str(word) for word in command]
        with path.open("ab") as output:
            output.write(f"$ {' '.join(words)}\n".encode())
            output.flush()
            try:
                result = children.call(
                    words,
                    cwd=cwd,
                    env=dict(os.environ) | dict(environment or {}),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise Failure(f"{name} failed: cannot start {words[0]} ({error.strerror}).") from error
        if result.returncode != 0:
            raise Failure(f"{name} failed (exit {result.returncode}: {last_line(path)}); the full log is {path}.")
