"""One target process: started in its own group, read line by line, ended with everything it started."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from handoff_tool import children, machine, targets

PATIENCE = 20.0  # seconds a process gets to end by itself after it was asked to

_running: set["Process"] = set()
_interrupted = threading.Event()  # the command is about to end: nothing more is started


class Process:
    """The group makes Ctrl-C reach us only: we decide when a target stops, and nothing it forked outlives it."""

    def __init__(self, binary: Path, words: Iterable[str | Path], environment: dict[str, str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            targets.command(binary, *words),
            cwd=cwd,
            env=targets.environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        _running.add(self)
        if _interrupted.is_set():
            self.kill()

    def follow(self, line: Callable[[str], None], limit: float) -> int:
        """Feeds every line of standard error to `line` and returns the exit code; past `limit` seconds the process is killed."""
        watchdog = threading.Timer(limit, self.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            assert self._process.stderr is not None
            with self._process.stderr as stream:  # open until the last process of the group is gone
                for text in stream:
                    line(text.rstrip("\n"))
            return self._process.wait()
        finally:
            watchdog.cancel()
            self.kill()
            _running.discard(self)

    def interrupt(self) -> None:
        """Asks as a terminal would; kills what does not follow."""
        children.send(self._process.pid, signal.SIGINT)
        timer = threading.Timer(PATIENCE, self.kill)
        timer.daemon = True
        timer.start()

    def kill(self) -> None:
        children.send(self._process.pid, signal.SIGKILL)


@contextlib.contextmanager
def pool() -> Iterator[ThreadPoolExecutor]:
    """A thread a core, each to follow a process. An interrupt kills those, or the pool would wait for them to end."""
    executor = ThreadPoolExecutor(machine.cores())
    try:
        yield executor
    except KeyboardInterrupt:
        _interrupted.set()
        for process in list(_running):
            process.kill()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def run(binary: Path, words: Iterable[str | Path], environment: dict[str, str], cwd: Path, limit: float) -> tuple[int, list[str]]:
    """Runs a target to its end; returns the exit code and what it printed."""
    lines: list[str] = []
    return Process(binary, words, environment, cwd).follow(lines.append, limit), lines
