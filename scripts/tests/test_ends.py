"""How campaigns end: whatever ends a target, or the command, what was found is kept and the exit code is right."""

import json
import shutil
import signal
from pathlib import Path

from handoff_tool import findings
from tests.support import Campaigns


class Ends(Campaigns):
    def test_a_clean_campaign_exits_0(self) -> None:
        code, out, _ = self.fuzz("", "--json")
        self.assertEqual(0, code)
        row = json.loads(out)["rows"][0]
        self.assertEqual(
            ["exchange", "thread", 2000, 43, 8, 0, "clean"],
            [row[k] for k in ("target", "sanitizer", "executions", "coverage", "corpus", "findings", "ended")],
        )

    def test_an_error_is_shown_in_the_targets_own_words_and_not_called_a_search(self) -> None:
        code, out, _ = self.fuzz("usage")
        self.assertEqual(1, code)
        self.assertIn("exchange (thread): no such folder", out)
        self.assertNotIn("does not mean", out)

    def test_an_empty_crash_file_is_an_error_of_the_harness(self) -> None:
        code, out, _ = self.fuzz("find:1,empty", "--json")
        self.assertEqual(1, code)
        self.assertIn("fuzz-exchange-thread.log", json.loads(out)["rows"][0]["ended"])
        self.assertNotIn("could not be kept", json.loads(out)["rows"][0]["ended"])

    def test_an_interrupt_keeps_everything_prints_the_table_and_exits_72(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                started = self.cache.corpus("exchange") / "launches"
                started.unlink(missing_ok=True)
                child = self.started("fuzz", FAKE_PLAN="hang")
                self.await_file(started, child)
                child.send_signal(number)
                out, _ = child.communicate()
                self.assertEqual(72, child.returncode)
                self.assertIn("exchange  thread", out)
                self.assertIn("Interrupted", out)
                self.assertTrue(started.exists())

    def test_what_was_found_when_the_interrupt_came_is_kept(self) -> None:
        started = self.cache.corpus("exchange") / "launches"
        child = self.started("fuzz", FAKE_PLAN="late")
        self.await_file(started, child)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual(72, child.returncode)
        self.assertIn("with 1 finding", out)
        self.assertEqual(["crash-c"], [file.name for file in findings.case_files(self.folder / "findings" / "exchange" / "c")])

    def test_what_was_named_is_kept_whatever_the_exit_code(self) -> None:
        for code in (0, 1, 7, 139, -signal.SIGSEGV, -signal.SIGKILL):
            with self.subTest(code=code):
                shutil.rmtree(self.folder / "findings", ignore_errors=True)
                self.cache.corpus("exchange").joinpath("launches").unlink(missing_ok=True)
                ended, out, _ = self.fuzz(f"find:2,exit:{code}", "--json")
                result = json.loads(out)
                self.assertEqual((77, "finding"), (ended, result["rows"][0]["ended"]))
                self.assertEqual(["a::b", "c"], sorted(found["signature"] for found in result["findings"]))
                self.assertTrue(all(Path(found["file"]).is_file() for found in result["findings"]))

    def test_an_end_before_its_time_is_not_clean(self) -> None:
        code, out, _ = self.fuzz("vanish")
        self.assertEqual(1, code)
        self.assertIn("exchange (thread): it ended before its time.", out)

    def test_an_input_that_took_long_is_no_finding(self) -> None:
        code, out, _ = self.fuzz("slow", "--json")
        self.assertEqual((0, "clean"), (code, json.loads(out)["rows"][0]["ended"]))

    def test_a_second_interrupt_waits_for_nobody_and_loses_nothing(self) -> None:
        started = self.cache.corpus("exchange") / "launches"
        for number in (signal.SIGINT, signal.SIGTERM):
            for plan, name, count in (
                ("deaf", "unexplained-crash-d", "with 1 finding"),
                ("deaf,unconfirmed", "unconfirmed-unexplained-unconfirmed-d", "with 0 findings"),
            ):
                with self.subTest(signal=number, plan=plan):
                    shutil.rmtree(self.folder / "findings", ignore_errors=True)
                    started.unlink(missing_ok=True)
                    child = self.started("fuzz", FAKE_PLAN=plan)
                    self.await_file(started, child)
                    child.send_signal(number)
                    assert child.stderr is not None
                    while "once more" not in (line := child.stderr.readline()):
                        self.assertTrue(line, "ended without a word")
                    child.send_signal(number)
                    out, err = child.communicate()
                    self.assertFalse(started.with_name("outlived").exists(), "the target was waited for")
                    self.assertEqual(72, child.returncode, err)
                    self.assertIn(count, out)
                    [folder] = (self.folder / "findings" / "exchange").iterdir()
                    self.assertEqual(name, folder.name)
                    self.assertEqual(["crash"], [file.read_text() for file in findings.case_files(folder)])
                    self.assertIn(f"scripts/handoff explain {folder}", (folder / findings.REPORT).read_text())

    def test_a_target_that_cannot_start_is_an_error_with_its_log(self) -> None:
        code, out, _ = self.fuzz("usage", "--json")
        self.assertEqual(1, code)
        self.assertIn("error (exit 1)", json.loads(out)["rows"][0]["ended"])
