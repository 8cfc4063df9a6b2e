"""Reads what a target prints: libFuzzer's status lines, the file and signature of a finding, and the report between them."""

import re
from collections import deque
from dataclasses import dataclass, field

_STATUS = re.compile(r"^#(\d+)\s+[A-Z_a-z]+\s.*?(?:cov: (\d+).*?)?(?:corp: (\d+).*?)?exec/s: (\d+)")
# libFuzzer's phrase for a file that fails again, and the harness's for one that could not be confirmed.
_WRITTEN = re.compile(r"(Test|Unconfirmed) unit written to (.+?)\s*$")
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
    written: str = ""
    confirmed: bool = True
    token: str = ""
    summary: str = ""
    trace: str = ""  # hash
    _report: deque[str] = field(default_factory=lambda: deque(maxlen=600))

    def feed(self, line: str) -> None:
        if status := _STATUS.match(line):
            self.executions = int(status[1])
            self.per_second = int(status[4])
            self.coverage = int(status[2] or self.coverage)
            self.corpus = int(status[3] or self.corpus)
            return
        self._report.append(line)
        if match := _WRITTEN.search(line):
            self.written = match[2]
            self.confirmed = match[1] == "Test"
        elif match := _TOKEN.match(line):
            self.token = match[1]
        elif match := _TRACE.match(line):
            self.trace = match[1]
        elif match := _SUMMARY.match(line):
            self.summary = match[1]

    def signature(self) -> str:
        """The DEDUP_TOKEN; libFuzzer's own verdicts (timeout, out of memory) have only a summary."""
        return self.token or self.summary or "unknown"

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
