"""Texts that people read: help, tables, and what is parsed from a target's output."""

import contextlib
import io
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from handoff_tool import main, places, suite
from handoff_tool.findings import folder_name
from handoff_tool.output import Output
from handoff_tool.progress import seconds_text
from handoff_tool.table import render
from tests.support import HERE, World, golden


class Help(World):
    def test_every_verb_has_its_golden_help(self) -> None:
        verbs = next(iter(main.parser()._subparsers._group_actions)).choices  # type: ignore[union-attr]
        golden(self, "help.txt", main.parser().format_help())
        for name, parser in verbs.items():
            with self.subTest(verb=name):
                golden(self, f"help-{name}.txt", parser.format_help())

    def test_an_unknown_verb_lists_the_valid_ones_and_the_nearest(self) -> None:
        code, _, err = self.run_command("explian")
        self.assertEqual(1, code)
        self.assertIn("setup", err)
        self.assertIn("(did you mean 'explain'?)", err)

    def test_help_is_taken_as_a_verb(self) -> None:
        for words, expected in ((["help"], "help.txt"), (["help", "fuzz"], "help-fuzz.txt")):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as end:
                main.main(words)
            self.assertEqual((0, (HERE / "golden" / expected).read_text()), (end.exception.code, out.getvalue()))

    def test_a_variable_that_nobody_reads_is_refused(self) -> None:
        for name, near in (("HANDOFF_CASHE", "HANDOFF_CACHE"), ("HANDOFF_TWN", "HANDOFF_TWIN")):
            with self.subTest(name=name), self.environment(**{name: "x"}):
                code, out, err = self.run_command("list")
                self.assertEqual((1, ""), (code, out))
                told = f"handoff list: Unknown environment variable '{name}' (did you mean '{near}'?); expected one of: HANDOFF_CACHE, "
                self.assertIn(told, err)
        with self.environment(**{name: "" for name in main.VARIABLES}):
            self.assertEqual(0, self.run_command("list")[0])

    def test_every_variable_that_the_sources_read_is_known(self) -> None:
        read = re.compile(r'(?:getenv|environment|ReadSwitch|environ\.get)\("(HANDOFF_\w+)"|kGuard = "(HANDOFF_\w+)"|ENV\{(HANDOFF_\w+)\}')
        sources = [path for path in (places.ROOT / "harness").rglob("*.*") if path.suffix in (".cc", ".h", ".cmake")]
        sources += (places.ROOT / "scripts" / "handoff_tool").glob("*.py")
        found = {name for path in sources for names in read.findall(path.read_text()) for name in names if name}
        self.assertEqual((set(), True), (found - set(main.VARIABLES), "HANDOFF_WHY" in found))

    def test_a_flag_before_the_verb_is_told_where_it_goes(self) -> None:
        for words in (["--json", "doctor"], ["--cache", "folder", "doctor"], ["--version"]):
            code, out, err = self.run_command(*words)
            self.assertEqual(1, code)
            self.assertIn(f"expected a verb first, found {words[0]}; flags go behind it", out + err)

    def test_what_libfuzzer_cannot_hold_and_an_empty_name_are_refused(self) -> None:
        code, _, err = self.run_command("fuzz", "--seed", "99999999999999999999")
        self.assertEqual(1, code)
        self.assertIn("expected a number of 32 bits", err)
        code, _, err = self.run_command("fuzz", "--time", "abc")
        self.assertEqual(1, code)
        self.assertIn("expected a number of seconds above 0, found abc", err)
        code, _, err = self.run_command("replay", "")
        self.assertEqual(1, code)
        self.assertIn("found an empty name", err)

    def test_without_a_verb_the_verbs_are_listed(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(1, main.main([]))
        self.assertIn("replay", err.getvalue())
        self.assertIn("--help", err.getvalue())

    def test_a_stream_that_cannot_be_written_leads_nowhere(self) -> None:
        script = "import sys; from handoff_tool.main import open_closed_streams as f; f(); print(1, file=sys.stderr); print(2)"
        with Path(__file__).open() as unwritable:
            for stderr, close in ((unwritable, ""), (None, "2>&-")):
                words = ["sh", "-c", f'exec "$0" -S -c "$1" {close}', sys.executable, script]
                child = subprocess.run(words, cwd=HERE.parent, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
                self.assertEqual((0, "2\n"), (child.returncode, child.stdout))

    def test_an_interrupt_while_the_command_is_still_loaded_is_silent(self) -> None:
        module = self.folder / "handoff_tool" / "main.py"
        module.parent.mkdir()
        module.write_text(f"import time; open({str(self.folder / 'loading')!r}, 'w').write('x'); time.sleep(60)")
        script = shutil.copy(HERE.parent / "handoff", self.folder)
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.folder / "loading").unlink(missing_ok=True)
            child = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
            self.addCleanup(child.kill)
            self.await_file(self.folder / "loading", child)
            child.send_signal(number)
            self.assertEqual((None, ""), child.communicate())
            self.assertEqual(72, child.returncode)


class Tables(unittest.TestCase):
    def test_numbers_are_set_right_and_grouped(self) -> None:
        self.assertEqual(
            "name  count\n----  -----\nab    1,234\nc         -", render(["name", "count"], [["ab", 1234], ["c", None]])
        )

    def test_an_empty_table_has_only_its_head(self) -> None:
        self.assertEqual("a  b\n-  -", render(["a", "b"], []))

    def test_the_closing_line_is_plain(self) -> None:
        self.assertEqual("3 passed, 1 failed", suite.closing([suite.Stage("a", 1, 1), suite.Stage("b", 2)]))

    def test_times_read_well(self) -> None:
        self.assertEqual(["0 s", "119 s", "2 min 05 s"], [seconds_text(s) for s in (0.2, 119, 125)])


class Outputs(unittest.TestCase):
    def test_status_finding_and_token_are_read(self) -> None:
        output = Output()
        for line in (
            "#4096\tpulse  cov: 12 ft: 30 corp: 5/60b lim: 8 exec/s: 2048 rss: 40Mb",
            "FINDING",
            "x",
            "DEDUP_TOKEN: race--f--g",
            "artifact_prefix='./'; Test unit written to ./crash-1",
        ):
            output.feed(line)
        self.assertEqual((4096, 2048, 12, 5), (output.executions, output.per_second, output.coverage, output.corpus))
        self.assertEqual(("./crash-1", "race--f--g", True), (output.written, output.signature(), output.confirmed))
        self.assertTrue(output.finding_text().startswith("FINDING\nx\n"))

    def test_a_finding_without_a_token_goes_by_its_summary(self) -> None:
        output = Output()
        output.feed("SUMMARY: libFuzzer: timeout")
        self.assertEqual("libFuzzer: timeout", output.signature())

    def test_signatures_become_distinct_file_names(self) -> None:
        self.assertEqual("race--f--g", folder_name("race--f--g"))
        names = {folder_name(text) for text in ("a::b", "a b", "a/b", "x" * 300, "x" * 301)}
        self.assertEqual(5, len(names))
        self.assertTrue(all(len(name) < 120 and "/" not in name for name in names))
