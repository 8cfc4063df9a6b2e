"""Programs that the command starts: each leads a process group of its own, and none outlives the command."""

import contextlib
import os
import select
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


class Interruptions:
    """How often we were asked to end: for a main thread with something to finish, from which an exception would tear it.

    The handler takes no lock, which the code that it interrupts may hold; the pipe wakes who waits.
    """

    def __init__(self) -> None:
        self.count = 0
        self._reading, self._writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def close(self) -> None:
        os.close(self._reading)
        os.close(self._writing)

    def handle(self, *_: Any) -> None:
        self.count += 1
        with contextlib.suppress(BlockingIOError):  # full: whoever waits will not sleep
            os.write(self._writing, b".")

    def wait(self, seconds: float) -> None:
        """Or until the next interruption."""
        if select.select([self._reading], [], [], seconds)[0]:
            os.read(self._reading, 1)


@contextlib.contextmanager
def interruptions() -> Iterator[Interruptions]:
    """Inside, signals that would raise KeyboardInterrupt are counted instead. Main thread."""
    asked = Interruptions()
    taken = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.default_int_handler]
    try:
        for number in taken:
            signal.signal(number, asked.handle)
        yield asked
    finally:
        for number in taken:
            signal.signal(number, signal.default_int_handler)
        asked.close()


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
                try:
                    send(child.pid, signal.SIGTERM)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(GRACE)
                finally:  # a second interrupt does not wait
                    send(child.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)
