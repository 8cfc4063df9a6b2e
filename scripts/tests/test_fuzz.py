"""Campaigns: findings are kept once a signature, ends have their exit codes, names are checked."""

import json
import os
import signal
import subprocess
import sys
import time
from unittest import mock

from handoff_tool import builds, findings
from tests.support import HERE, World, golden


class Fuzz(World):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(builds, "build", lambda *_: None)  # the targets are there
        patch.start()
        self.addCleanup(patch.stop)
        self.target("exchange")

    def fuzz(self, plan: str, *words: str) -> tuple[int, str, str]:
        with mock.patch.dict(os.environ, {"FAKE_PLAN": plan}):
            return self.run_command("fuzz", "--time", "5", *words)

    def test_a_clean_campaign_exits_0(self) -> None:
        code, out, _ = self.fuzz("", "--json")
        self.assertEqual(0, code)
        row = json.loads(out)["rows"][0]
        self.assertEqual(
            ["exchange", "thread", 2000, 43, 8, 0, "clean"],
            [row[k] for k in ("target", "sanitizer", "executions", "coverage", "corpus", "findings", "ended")],
        )

    def test_an_unknown_name_is_refused_before_anything_is_built(self) -> None:
        with mock.patch.object(builds, "build", lambda *_: self.fail("built")):
            code, _, err = self.run_command("fuzz", "nosuch")
            self.assertEqual(1, code)
            self.assertIn("Unknown target 'nosuch'; expected one of: exchange.", err)
            code, _, err = self.run_command("replay", "nosuch")
            self.assertEqual(1, code)
            self.assertIn("nosuch: expected a case file", err)

    def test_findings_are_kept_once_a_signature_and_the_target_goes_on(self) -> None:
        code, out, _ = self.fuzz("find:5", "--json")
        self.assertEqual(77, code)
        result = json.loads(out)
        self.assertEqual(["a::b", "c"], sorted(found["signature"] for found in result["findings"]))
        self.assertEqual(5 * 100 + 2000, result["rows"][0]["executions"])
        origins = sorted(
            (origin.signature, origin.seen)
            for folder in (self.folder / "findings" / "exchange").iterdir()
            if (origin := findings.read_meta(folder))
        )
        self.assertEqual([("a::b", 3), ("c", 2)], origins)

    def test_a_finding_keeps_its_report_and_twin(self) -> None:
        _, out, _ = self.fuzz("find:1", "--json", "--twin", "double_delete")
        case = findings.Path(json.loads(out)["findings"][0]["file"])
        self.assertTrue((case.parent / findings.REPORT).read_text().startswith("FINDING"))
        self.assertEqual(
            ("exchange", "thread", "double_delete"), (lambda o: (o.target, o.sanitizer, o.twin))(findings.origin(case))
        )

    def test_an_empty_crash_file_is_an_error_of_the_harness(self) -> None:
        code, out, _ = self.fuzz("find:1,empty", "--json")
        self.assertEqual(1, code)
        self.assertIn("fuzz-exchange-thread.log", json.loads(out)["rows"][0]["ended"])

    def test_an_interrupt_keeps_everything_prints_the_table_and_exits_72(self) -> None:
        script = (
            "import sys; from handoff_tool import builds, machine; from handoff_tool.main import main; from pathlib import Path\n"
            "machine.without_randomisation = lambda: (); builds.build = lambda *_: None; builds.ROOT = Path(sys.argv.pop(1))\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(self.folder), "fuzz", "--cache", str(self.cache.folder)],
            cwd=HERE.parent,
            env=os.environ | {"FAKE_PLAN": "hang"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started = self.cache.corpus("exchange") / "launches"
        while not started.exists():
            self.assertIsNone(child.poll(), "fuzz ended before it could be interrupted")
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual(72, child.returncode)
        self.assertIn("exchange  thread", out)
        self.assertIn("Interrupted", out)
        self.assertTrue(started.exists())

    def test_unknown_names_list_the_valid_ones(self) -> None:
        for words, expected in (
            (["nope"], "Unknown target 'nope'; expected one of: exchange."),
            (["--twin", "nope"], "Unknown twin 'nope'; expected one of: double_delete."),
            (["--strategy", "nope"], "Unknown strategy 'nope'; expected one of: bytes, random, pct, pos, surw, listed, free."),
            (["--granularity", "nope"], "Unknown granularity 'nope'; expected one of: op, sync, access."),
            (["--sanitizer", "nope"], "expected one of: thread, address"),
            (["--nope"], "--strategy"),
            (["--time", "-1"], "above 0"),
        ):
            with self.subTest(words=words):
                code, _, err = self.fuzz("", *words)
                self.assertEqual(1, code)
                self.assertIn(expected, err)

    def test_a_target_that_cannot_start_is_an_error_with_its_log(self) -> None:
        code, out, _ = self.fuzz("usage", "--json")
        self.assertEqual(1, code)
        self.assertIn("error (exit 1)", json.loads(out)["rows"][0]["ended"])

    def test_list_has_the_shape_that_scripts_rely_on(self) -> None:
        self.target("exchange", "address")
        code, out, _ = self.run_command("list", "--json")
        self.assertEqual(0, code)
        target = json.loads(out)["targets"][0]
        self.assertEqual(
            ("exchange", ["thread", "address"], "double_delete"),
            (target["name"], target["sanitizers"], target["twins"][0]["name"]),
        )
        golden(self, "list.txt", self.run_command("list")[1])
