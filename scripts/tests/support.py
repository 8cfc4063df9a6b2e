"""What the tests of the command share: a scratch world with its own cache, and tools that only pretend."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from handoff_tool import builds, findings, machine, main, places, targets
from handoff_tool.places import Cache

HERE = Path(__file__).resolve().parent

_ALONE = """
import sys
from pathlib import Path
from handoff_tool import builds, findings, machine, process, targets
from handoff_tool.main import main
folder = Path(sys.argv.pop(1))
machine.without_randomisation = lambda: ()
process.PATIENCE = 600.0  # whoever counts on it is found out
builds.build = lambda *_: None
builds.ROOT = targets.ROOT = folder
findings.FOLDER, targets.CORPUS = folder / "findings", folder / "corpus"
sys.exit(main(sys.argv[1:]))
"""

# Comments of a text case in corpus/exchange with which it cannot be run, and what is said of them.
BAD_COMMENTS = (
    ("# target: other", "expected '# target: exchange', as it lies in corpus/exchange, found '# target: other'; correct the"),
    ("# target: exchnge", "expected '# target: exchange', as it lies in corpus/exchange, found '# target: exchnge'"),
    ("# twin: double_delte", "(did you mean 'double_delete'?); expected one of: double_delete, safe."),
    ("# twin: double_delete, once more", "Unknown twin of exchange, 'double_delete, once more'"),
    ("  # twin:", "expected a name behind '# twin:', found none"),
    ("# twin: double_delete\n# twin: other", "expected one '# twin:', found 'double_delete' and 'other'"),
    ("# sanitizer: adress", "Unknown sanitizer 'adress' (did you mean 'address'?); expected one of: thread, address."),
    ("# carrier: tread", "Unknown carrier 'tread' (did you mean 'thread'?); expected one of: fiber, thread."),
    ("# carrier: fiber", "expected one of thread, found 'fiber'"),
    ("# carrier: fibre", "Unknown carrier 'fibre' (did you mean 'fiber'?); expected one of: fiber, thread."),
)

# What may lie where a case's meta.json is expected, and what is said of it.
BAD_METAS = (
    (b"", "an empty file"),
    (b" \n", "an empty file"),
    (b'{"target": "exchange", "tw', "text that is no JSON"),
    (b"\xca\x5e\xff\x00", "no text"),
    (b"[" * 200_000, "text that is no JSON"),
    (b'["exchange"]', "other JSON"),
    (b"{}", "no 'target' in it"),
    (b'{"target": "", "twin": "double_delete"}', "no 'target' in it"),
    (b'{"target": ["exchange"]}', "a 'target' that is not text"),
    (b'{"target": "exchange", "twin": null}', "a 'twin' that is not text"),
    (b'{"target": "exchange", "seen": true}', "a 'seen' that is not a whole number"),
    (b'{"target": "exchange", "confirmed": 1}', "a 'confirmed' that is not true or false"),
)

FAKE_TARGET = (HERE / "fake_target.py").read_text()


class World(unittest.TestCase):
    """A folder of its own for everything that a verb reads or writes."""

    def setUp(self) -> None:
        context = contextlib.ExitStack()
        self.addCleanup(context.close)
        self.folder = Path(context.enter_context(tempfile.TemporaryDirectory(prefix="handoff-test-")))
        self.cache = Cache(self.folder / "cache")
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        for module, name, value in (
            (builds, "ROOT", self.folder),
            (findings, "FOLDER", self.folder / "findings"),
            (targets, "CORPUS", self.folder / "corpus"),
            (targets, "ROOT", self.folder),
        ):
            context.enter_context(mock.patch.object(module, name, value))
        context.enter_context(contextlib.chdir(places.ROOT))  # the commands that are printed are for the current folder
        context.enter_context(mock.patch.object(machine, "without_randomisation", lambda: ()))
        context.enter_context(mock.patch.dict(os.environ, {"PATH": f"{self.tools}:{os.environ['PATH']}", "COLUMNS": "120"}))

    def environment(self, **variables: str) -> contextlib.AbstractContextManager[object]:
        return mock.patch.dict(os.environ, variables)

    def tool(self, name: str, script: str) -> Path:
        """Puts an executable first on PATH."""
        path = self.tools / name
        path.write_text(script)
        path.chmod(0o755)
        return path

    def target(self, name: str, sanitizer: str = "thread") -> Path:
        """A program that behaves like a fuzz target as seen from outside; fake_target.py says how it is steered."""
        path = builds.binary(name, sanitizer)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FAKE_TARGET)
        path.chmod(0o755)
        source = self.folder / "fuzz" / f"{name}.cc"
        source.parent.mkdir(exist_ok=True)
        source.write_text('"double_delete"')
        os.utime(source, (0, 0))  # built since
        return path

    def started(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """The command in a process of its own, in this world, for signals."""
        child = subprocess.Popen(
            [sys.executable, "-c", _ALONE, str(self.folder), words[0], "--cache", str(self.cache.folder), *words[1:]],
            cwd=HERE.parent,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        return child

    def await_file(self, path: Path, child: subprocess.Popen[str]) -> str:
        """The content that the child, or what it started, will write into a file."""
        while not path.exists() or not path.read_text():
            self.assertIsNone(child.poll(), "ended before it could be interrupted")
            time.sleep(0.02)
        return path.read_text()

    def await_end(self, process: int) -> None:
        """Of a grandchild."""
        while Path(f"/proc/{process}").exists() and "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text():
            time.sleep(0.02)

    def run_command(self, *words: str) -> tuple[int, str, str]:
        """The command's exit code, standard output and standard error."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main.main([words[0], "--cache", str(self.cache.folder), *words[1:]])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
        return code, out.getvalue(), err.getvalue()


class Campaigns(World):
    """With one target that is there."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(builds, "build", lambda *_: None)  # the targets are there
        patch.start()
        self.addCleanup(patch.stop)
        self.target("exchange")

    def fuzz(self, plan: str, *words: str) -> tuple[int, str, str]:
        with mock.patch.dict(os.environ, {"FAKE_PLAN": plan}):
            return self.run_command("fuzz", "--time", "5", *words)


def golden(case: unittest.TestCase, name: str, text: str) -> None:
    """Compares with tests/golden/`name`, or rewrites it under HANDOFF_UPDATE_GOLDEN=1."""
    path = HERE / "golden" / name
    if os.environ.get("HANDOFF_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    case.assertEqual(
        path.read_text() if path.exists() else "",
        text,
        f"differs from {path}; refresh with 'scripts/handoff test --update-golden'",
    )


# A source tree that configures and compiles in no time, with the layout of CPython's.
_CONFIGURE = """#!/bin/sh
cat > Makefile <<'END'
all:
\t@test ! -e "$(STOP)" || (echo $$$$ > "$(STOP)"; exec sleep 60)
\t@test -z "$(BREAK)" || (echo no such header; exit 1)
\t@cp answer.sh python
\t@mkdir -p build/lib
\t@touch build/lib/_a.so pyconfig.h libpython3.99t.a
\t@printf build/lib > pybuilddir.txt
END
"""
_ANSWER = """#!/bin/sh
case "$*" in
*-c*) echo '{"version": "3.99.0", "name": "python3.99t", "libs": ["-ldl"], "dynload": ""}';;
esac
"""


def fake_python_tarball(folder: Path) -> Path:
    source = folder / "Python-3.99.0"
    shutil.rmtree(source, ignore_errors=True)
    for name, text in {
        "configure": _CONFIGURE,
        "answer.sh": _ANSWER,
        "Include/Python.h": "",
        "Lib/os.py": "",
        "Lib/test/test_os.py": "",
        "LICENSE": "",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
        (source / name).chmod(0o755)
    path = folder / "Python-3.99.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(source, source.name)
    return path
