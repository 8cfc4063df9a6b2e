"""Set-up: sources are checked, a build is complete or absent, and the second time nothing happens."""

import os
import signal
import subprocess
import sys
import time
from unittest import mock

from handoff_tool import interpreter, packages, setup, sources, toolchain
from handoff_tool.outcome import Failure
from tests.support import HERE, World, fake_python_tarball

HEADER = "#define DLPACK_MAJOR_VERSION {}\n#define DLPACK_MINOR_VERSION {}\n"


class Setup(World):
    def setUp(self) -> None:
        super().setUp()
        chain = toolchain.Toolchain("clang", "clang++", "clang version 99.0", 99)
        for patch in (mock.patch.object(packages, "missing", lambda: []), mock.patch.object(toolchain, "find", lambda: chain)):
            patch.start()
            self.addCleanup(patch.stop)
        self.tarball = fake_python_tarball(self.folder)
        self.header((1, 3))

    def header(self, version: tuple[int, int]) -> None:
        (self.folder / "include" / "dlpack").mkdir(parents=True, exist_ok=True)
        (self.folder / "include" / "dlpack" / "dlpack.h").write_text(HEADER.format(*version))

    def setup(self, *more: str) -> tuple[int, str, str]:
        return self.run_command(
            "setup", "--python-source", str(self.tarball), "--dlpack-include", str(self.folder / "include"), *more
        )

    def pythons(self) -> list[str]:
        return sorted(path.name.rsplit("-", 1)[0] for path in self.cache.folder.glob("python-*"))

    def test_setup_builds_one_interpreter_per_sanitizer(self) -> None:
        code, out, err = self.setup()
        self.assertEqual(0, code, err)
        self.assertEqual(["python-address", "python-thread"], self.pythons())
        self.assertEqual([], list(self.cache.folder.glob("building-*")))
        for python in self.cache.folder.glob("python-*"):
            self.assertTrue((python / "lib/python3.99t/os.py").exists())
            self.assertFalse((python / "lib/python3.99t/test").exists())

    def test_the_second_setup_starts_nothing(self) -> None:
        self.assertEqual(0, self.setup()[0])
        before = {path: path.stat().st_mtime_ns for path in self.cache.folder.rglob("*")}
        with mock.patch.object(subprocess, "run", side_effect=AssertionError("started something")):
            code, _, err = self.run_command("setup", "--json")
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.cache.folder.rglob("*")})

    def test_a_wrong_hash_is_one_sentence_and_builds_nothing(self) -> None:
        code, _, err = self.setup("--sha256", "0" * 64)
        self.assertEqual(1, code)
        self.assertIn("wrong hash: expected sha256 " + "0" * 64, err)
        self.assertEqual(1, len(err.strip().splitlines()))
        self.assertEqual([], self.pythons())

    def test_a_url_without_a_hash_is_refused(self) -> None:
        code, _, err = self.run_command("setup", "--python-source", "https://example.invalid/python.tar.xz")
        self.assertEqual(1, code)
        self.assertIn("needs --sha256", err)

    def test_a_missing_network_is_one_sentence(self) -> None:
        code, _, err = self.run_command("setup", "--python-source", "http://127.0.0.1:9/python.tar.xz", "--sha256", "0" * 64)
        self.assertEqual(1, code)
        self.assertIn("Cannot download http://127.0.0.1:9/python.tar.xz", err)
        self.assertEqual(1, len(err.strip().splitlines()))

    def test_an_old_dlpack_header_is_refused_with_its_version(self) -> None:
        self.header((0, 6))
        code, _, err = self.setup()
        self.assertEqual(1, code)
        self.assertIn("found version 0.6", err)

    def test_a_failed_build_names_its_log_and_leaves_the_cache_clean(self) -> None:
        with mock.patch.dict(os.environ, {"BREAK": "1"}):
            code, _, err = self.setup()
        self.assertEqual(1, code)
        log = self.cache.logs / "python-thread.log"
        self.assertIn(str(log), err)
        self.assertIn("no such header", log.read_text())
        self.assertEqual(([], []), (self.pythons(), list(self.cache.folder.glob("building-*"))))

    def stopped_setup(self) -> tuple[subprocess.Popen[bytes], int]:
        """A set-up in a process of its own, in the middle of `make`, and the process that make waits for."""
        stop = self.folder / "stop"
        stop.write_text("")
        script = (
            "import sys; from handoff_tool import machine, packages, toolchain; from handoff_tool.main import main\n"
            "packages.missing = lambda: []; machine.without_randomisation = lambda: ()\n"
            "toolchain.find = lambda: toolchain.Toolchain('clang', 'clang++', 'clang version 99.0', 99)\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        words = [
            "setup",
            "--cache",
            str(self.cache.folder),
            "--python-source",
            str(self.tarball),
            "--dlpack-include",
            str(self.folder / "include"),
        ]
        child = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            cwd=HERE.parent,
            env=os.environ | {"STOP": str(stop)},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.addCleanup(child.kill)
        while not stop.read_text():  # make is in the middle of it
            self.assertIsNone(child.poll(), "the set-up ended before it could be killed")
            time.sleep(0.02)
        return child, int(stop.read_text())

    def test_a_killed_setup_poisons_nothing(self) -> None:
        child, sleeper = self.stopped_setup()
        child.kill()
        child.wait()
        os.kill(sleeper, signal.SIGKILL)
        self.assertEqual(([], 1), (self.pythons(), len(list(self.cache.folder.glob("building-*")))))
        self.assertEqual(0, self.setup()[0])
        self.assertEqual((["python-address", "python-thread"], []), (self.pythons(), list(self.cache.folder.glob("building-*"))))

    def test_an_ended_setup_takes_its_tools_along(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                child, sleeper = self.stopped_setup()
                child.send_signal(number)
                self.assertEqual(72, child.wait())
                self.await_end(sleeper)
                self.assertEqual([], list(self.cache.folder.glob("building-*")))

    def test_the_key_depends_on_source_flags_and_compiler(self) -> None:
        keys = {
            interpreter.key(*words)
            for words in (("1", "thread", "a"), ("2", "thread", "a"), ("1", "address", "a"), ("1", "thread", "b"))
        }
        self.assertEqual(4, len(keys))

    def test_without_a_mirror_the_header_must_be_given(self) -> None:
        with mock.patch.object(setup.archive, "mirror", lambda: None), mock.patch.object(packages, "debian", lambda: False):
            code, _, err = self.run_command("setup")
        self.assertEqual(1, code)
        self.assertIn("--dlpack-include", err)

    def test_an_unreachable_package_mirror_is_a_failure_that_says_so(self) -> None:
        self.tool("apt-get", "#!/bin/sh\nexit 100\n")
        with mock.patch.object(os, "geteuid", lambda: 0), self.assertRaisesRegex(Failure, "is the network up"):
            packages.update(setup.Progress(1, self.cache.logs))

    def test_a_tarball_is_kept_under_its_hash(self) -> None:
        self.setup()
        kept = sources.tarball(self.cache)
        assert kept is not None
        self.assertEqual(f"cpython-{sources.sha256(self.tarball)}.tar", kept.name)
