"""Programs that the command starts: each leads a process group of its own, and none outlives the command."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

GRACE = 5.0  # seconds a build tool gets to remove what it has half written


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """SIGTERM is treated as Ctrl-C, and so is a terminal that is closed: what we started is in groups of its own and would go on.

    SIGINT is named too: a shell starts background jobs with it ignored. An ignored SIGHUP is somebody's nohup and stays.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    numbers += [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []
    previous = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def send(leader: int, number: signal.Signals) -> None:
    """To a whole group, if there is anybody left in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def call(words: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Like subprocess.run with text, but an exception (an interrupt) ends the program with all that it started."""
    group = None if words[0] == "sudo" else 0  # sudo asks its question in the terminal's own group only, where Ctrl-C reaches it
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(list(map(str, words)), text=True, errors="replace", process_group=group, **options) as child:
        try:
            out, err = child.communicate()
        except BaseException:
            if group == 0:
                send(child.pid, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE)
                send(child.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)
