"""Reads what a target prints: libFuzzer's status lines, the file and signature of a finding, and the report between them."""

import re
from collections import deque
from dataclasses import dataclass, field

from handoff_tool.outcome import FAILING, FINDING, INTERRUPTED

_STATUS = re.compile(r"^#(\d+)\s+([A-Z_a-z]+)\s.*?(?:cov: (\d+).*?)?(?:corp: (\d+).*?)?exec/s: (\d+)")
# libFuzzer's phrase for a file that fails again, and the harness's for one that could not be confirmed.
_WRITTEN = re.compile(r"(Test|Unconfirmed) unit written to (.+?)\s*$")
_SLOW = "slow-unit-"  # libFuzzer keeps an input that took more than 10 seconds, and goes on
_TOKEN = re.compile(r"^DEDUP_TOKEN: (.+?)\s*$")
_FOUND = re.compile(r"^  (?:kind|rule): +(.+?)\s*$", re.M)  # of the report
_TRACE = re.compile(r"^  trace: +hash (\w+)")
_SUMMARY = re.compile(r"^SUMMARY: (.+?)\s*$")


@dataclass
class Output:
    """The state of one process, fed line by line."""

    executions: int = 0
    per_second: int = 0
    coverage: int = 0
    corpus: int = 0
    done: bool = False  # libFuzzer came to the end that it was given
    written: str = ""
    confirmed: bool = True
    token: str = ""
    summary: str = ""
    trace: str = ""  # hash
    _report: deque[str] = field(default_factory=lambda: deque(maxlen=600))

    def feed(self, line: str) -> None:
        if status := _STATUS.match(line):
            self.executions = int(status[1])
            self.done = self.done or status[2] == "DONE"
            self.per_second = int(status[5])
            self.coverage = int(status[3] or self.coverage)
            self.corpus = int(status[4] or self.corpus)
            return
        self._report.append(line)
        if match := _WRITTEN.search(line):
            if _SLOW not in match[2]:
                self.written = match[2]
                self.confirmed = match[1] == "Test"
        elif match := _TOKEN.match(line):
            self.token = match[1]
        elif match := _TRACE.match(line):
            self.trace = match[1]
        elif match := _SUMMARY.match(line):
            self.summary = match[1]

    def verdict(self, code: int) -> int:
        """The exit code as it is meant. What ended the process may have chosen it (`_exit(0)` in an operation, a signal), and then
        the cold parent, which outlives it, has named the file."""
        return FINDING if self.written and code not in (*FAILING, INTERRUPTED) else code

    def signature(self, otherwise: str = "unknown") -> str:
        """The DEDUP_TOKEN; libFuzzer's own verdicts (timeout, out of memory) have only a summary."""
        return self.token or self.summary or otherwise

    def explained(self) -> bool:
        return any(line.startswith("FINDING") for line in self._report)

    def found(self) -> str:
        """Kind and rule of the finding, as its report names them."""
        return " ".join(_FOUND.findall(self.finding_text()))

    def report(self) -> str:
        return "\n".join(line for line in self._report if not line.startswith(("INFO:", "\tNEW_FUNC", "NEW_FUNC"))) + "\n"

    def lines_with(self, phrase: str) -> list[str]:
        return [line for line in self._report if phrase in line]

    def last_line(self) -> str:
        """Nearly always the reason, where a process ends with an error."""
        lines = self.report().strip().splitlines()
        return lines[-1] if lines else ""

    def finding_text(self) -> str:
        """From the heading FINDING on, when there is one."""
        text = self.report()
        start = re.search(r"^FINDING\b", text, re.M)
        return text[start.start() :] if start else text
