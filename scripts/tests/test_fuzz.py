"""Campaigns: findings are kept once a signature, ends have their exit codes, names are checked."""

import contextlib
import dataclasses
import errno
import io
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path
from unittest import mock

from handoff_tool import builds, campaign, children, findings, places, targets
from tests.support import BAD_METAS, Campaigns, golden


class Fuzz(Campaigns):
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

    def test_the_live_line_says_what_a_target_does(self) -> None:
        terminal = io.StringIO()
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        job = campaign.Job(targets.built()["exchange"], "thread")
        show = campaign.Display(terminal)
        show.refresh([dataclasses.replace(job, state="running")])
        show.pause = 0.05
        with mock.patch.dict(os.environ, {"FAKE_PLAN": "find:2,shorten:1"}):
            with children.interruptions() as asked:
                campaign.Campaign(self.cache, [job], campaign.Plan(9, None, targets.Choices())).run(show, asked)
        shown = re.findall(r"exchange/thread (\S+) cov", terminal.getvalue())
        self.assertEqual("starting", shown[0])
        self.assertIn("shortening", shown)
        self.assertNotIn("0/s", shown)
        self.assertEqual(1000, job.rate)

    def test_a_full_disk_ends_its_job_and_leaves_the_case_where_it_is(self) -> None:
        self.target("other")
        with mock.patch.object(findings, "keep", side_effect=OSError(28, "No space left on device")):
            code, out, _ = self.fuzz("find:1")
        self.assertEqual(1, code)
        rows = [line.split() for line in out.splitlines() if line.split()[1:2] == ["thread"]]
        self.assertEqual(["error", "error"], [row[-1] for row in rows])
        left = re.findall(r"No space left on device. What was found last could not be kept and is in (\S+)$", out, re.M)
        self.assertEqual(2, len(left))
        for name in left:
            self.assertEqual("crash", Path(name).read_text())
            shutil.rmtree(Path(name).parent)

    def test_the_command_that_is_printed_runs_where_it_is_printed(self) -> None:
        for here in (places.ROOT, self.folder):
            with self.subTest(here=here), contextlib.chdir(here):
                self.cache.corpus("exchange").joinpath("launches").unlink(missing_ok=True)
                _, out, _ = self.fuzz("find:1")
                words = re.findall(r"replay it: (\S+) replay (\S+)", out)[0]
                self.assertEqual((True, True), (Path(words[0]).is_file(), Path(words[1]).is_dir()))

    def test_another_twins_finding_is_kept_beside_the_first(self) -> None:
        self.fuzz("find:1")
        self.cache.corpus("exchange").joinpath("launches").unlink()
        code, out, _ = self.fuzz("find:1", "--twin", "double_delete", "--json")
        self.assertEqual(77, code)
        folders = sorted(folder.name for folder in (self.folder / "findings" / "exchange").iterdir())
        safe = findings.folder_name("a::b")
        self.assertEqual([safe, f"{safe}--double_delete"], folders)
        file = Path(json.loads(out)["findings"][0]["file"])
        self.assertEqual(f"{safe}--double_delete", file.parent.name)
        self.assertEqual("double_delete", findings.origin(file).twin)

    def kept(self, name: str, size: int, sanitizer: str = "thread") -> tuple[list[str], str, int, bool]:
        """Keeps one more file of a signature; returns what lies there then, whose report, how many were seen, whether new."""
        file = self.folder / name
        file.write_text("x" * size)
        folder, new = findings.keep(findings.Origin("exchange", sanitizer, signature="c"), file, f"FINDING in {file}")
        self.assertFalse(file.exists())
        meta = json.loads((folder / findings.META).read_text())
        report = (folder / findings.REPORT).read_text()
        self.assertEqual([], [path.name for path in folder.glob(".*") if path.name != ".lock"])
        return [path.name for path in findings.case_files(folder)], Path(report.split()[-1]).name, meta["seen"], new

    def test_the_smallest_file_of_a_signature_stays(self) -> None:
        self.target("exchange", "address")
        self.assertEqual((["crash-1"], "crash-1", 1, True), self.kept("crash-1", 20))
        self.assertEqual((["crash-1"], "crash-1", 2, False), self.kept("crash-2", 30))
        self.assertEqual((["crash-1"], "crash-1", 3, False), self.kept("crash-3", 20, "address"))
        self.assertEqual((["crash-4"], "crash-4", 4, False), self.kept("crash-4", 10, "address"))
        self.assertEqual((["crash-4"], "crash-4", 5, False), self.kept("crash-5", 20))

    def test_a_file_that_an_earlier_build_found_makes_room_for_a_larger_one(self) -> None:
        self.kept("crash-1", 10)
        folder = self.folder / "findings" / "exchange" / "c"
        meta = json.loads((folder / findings.META).read_text()) | {"found": "2020-01-01 00:00:00"}  # to see that it stays
        (folder / findings.META).write_text(json.dumps(meta))
        with builds.binary("exchange", "thread").open("a") as file:
            file.write("# built anew\n")
        self.assertEqual((["crash-2"], "crash-2", 2, False), self.kept("crash-2", 20))
        self.assertEqual("2020-01-01 00:00:00", json.loads((folder / findings.META).read_text())["found"])
        builds.binary("exchange", "thread").unlink()  # and nobody knows either where nothing is built
        self.assertEqual((["crash-3"], "crash-3", 3, False), self.kept("crash-3", 30))
        self.assertEqual((["crash-4"], "crash-4", 4, False), self.kept("crash-4", 40))

    def test_what_cannot_be_read_beside_a_case_makes_room_for_a_finding(self) -> None:
        for number, (content, _) in enumerate(BAD_METAS):
            with self.subTest(content=content[:40]):
                folder = self.folder / "findings" / "exchange" / "c"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                (folder / findings.META).write_bytes(content)
                (folder / "crash-old").write_text("x")
                kept, _, _, _ = self.kept(f"crash-{number}", 20)
                self.assertEqual([f"crash-{number}"], kept)
                self.assertEqual("exchange", findings.origin(folder / kept[0]).target)

    def test_a_full_disk_does_not_lose_a_file_that_would_not_be_kept(self) -> None:
        self.kept("crash-1", 10)
        second = self.folder / "crash-2"
        second.write_text("x" * 20)
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(findings, "write_atomically", side_effect=full), self.assertRaises(OSError):
            findings.keep(findings.Origin("exchange", "thread", signature="c"), second, "the second")
        self.assertTrue(second.is_file())
        self.assertEqual((["crash-1"], "crash-1", 2, False), self.kept("crash-3", 30))

    def test_a_full_disk_loses_neither_a_new_finding_nor_the_one_before(self) -> None:
        first, second = self.folder / "crash-1", self.folder / "crash-2"
        first.write_text("the larger")
        second.write_text("smaller")
        origin = findings.Origin("exchange", "thread", "", signature="c")
        folder, _ = findings.keep(origin, first, "the first")
        full = OSError(errno.ENOSPC, "No space left on device")
        with mock.patch.object(findings, "write_atomically", side_effect=full), self.assertRaises(OSError):
            findings.keep(origin, second, "the second")
        self.assertTrue(second.is_file())
        self.assertEqual(["crash-1"], [path.name for path in findings.case_files(folder)])
        self.assertEqual("the first", (folder / findings.REPORT).read_text())
        self.assertEqual({"crash-1", findings.META, findings.REPORT, ".lock"}, {path.name for path in folder.iterdir()})

    def test_what_cannot_be_written_leaves_no_half_behind(self) -> None:
        file = self.folder / "facts"
        file.write_text("old")
        with mock.patch.object(Path, "replace", side_effect=OSError), self.assertRaises(OSError):
            places.write_atomically(file, "new")
        self.assertEqual(["old"], [path.read_text() for path in self.folder.glob("*facts*")])
        self.assertEqual([], list(self.folder.glob(".facts*")))

    def test_the_second_who_wants_a_place_says_so_and_waits_for_the_first(self) -> None:
        order = []
        first_has_it, err = threading.Event(), io.StringIO()

        def first() -> None:
            with places.exclusive(self.folder / "lock", "nobody"):
                first_has_it.set()
                while not err.getvalue():
                    time.sleep(0.01)
                order.append("first")

        thread = threading.Thread(target=first)
        thread.start()
        first_has_it.wait()
        with contextlib.redirect_stderr(err), places.exclusive(self.folder / "lock", "Somebody is here."):
            order.append("second")
        thread.join()
        self.assertEqual((["first", "second"], "Somebody is here.\n"), (order, err.getvalue()))

    def test_a_choice_that_a_target_does_not_take_is_refused_before_anything_is_built(self) -> None:
        with mock.patch.object(builds, "build", lambda *_: self.fail("built")):
            code, _, err = self.run_command("fuzz", "exchange", "--carrier", "fiber")
        self.assertEqual(1, code)
        self.assertIn("exchange: HANDOFF_CARRIER: expected one of thread, found 'fiber'", err)

    def test_without_a_binary_the_target_is_built_under_one_sanitizer_to_ask_it(self) -> None:
        binary = self.target("queue")
        content = binary.read_text()
        binary.unlink()
        built = []

        def build(_cache: object, sanitizer: str, names: list[str], _progress: object) -> None:
            built.append((sanitizer, names))
            binary.write_text(content)
            binary.chmod(0o755)

        (self.folder / "fuzz" / "other.cc").write_text('"others"')
        with mock.patch.object(builds, "build", build):
            code, _, err = self.run_command("fuzz", "queue", "--twin", "others")
        self.assertEqual((1, [("thread", ["queue"])]), (code, built))
        self.assertIn("Unknown twin of queue, 'others'; expected one of: double_delete", err)

    def test_a_twin_that_no_source_has_is_refused_before_anything_is_built(self) -> None:
        case = self.folder / "case.txt"
        case.write_text("handoff case 1\n")
        with mock.patch.object(builds, "build", lambda *_: self.fail("built")):
            for kept in (True, False):
                for words in (["fuzz"], ["fuzz", "exchange"], ["replay", str(case), "--target", "exchange"]):
                    with self.subTest(words=words, kept=kept):
                        code, _, err = self.run_command(*words, "--twin", "double_delte")
                        self.assertEqual(1, code)
                        self.assertIn(" 'double_delte'", err)
                        self.assertIn("(did you mean 'double_delete'?)" if kept else "; no source in fuzz/ or harness/ has it", err)
                builds.binary("exchange", "thread").unlink(missing_ok=True)

    def test_a_target_that_is_older_than_its_sources_is_asked_when_it_is_built_anew(self) -> None:
        (self.folder / "fuzz" / "exchange.cc").write_text('"double_delete", "newer"')
        built = []
        with mock.patch.object(builds, "build", lambda _cache, sanitizer, *_: built.append(sanitizer)):
            code, _, err = self.run_command("fuzz", "exchange", "--twin", "newer")
        self.assertEqual((1, ["thread"]), (code, built))
        self.assertIn("Unknown twin of exchange, 'newer'; expected one of: double_delete", err)

    def test_an_unknown_target_is_told_the_targets_proper_and_who_runs_others(self) -> None:
        for name in ("canary_leak", "canary_race", "queue"):
            self.target(name)
        (self.folder / "fuzz" / "canary").mkdir()
        for name in ("leak", "race"):
            (self.folder / "fuzz" / f"canary_{name}.cc").rename(self.folder / "fuzz" / "canary" / f"{name}.cc")
        case = self.folder / "case.txt"
        case.write_text("handoff case 1\n")
        valid = f"expected one of: exchange, queue and 2 canaries (canary_...). {targets.OUTSIDE}"
        for words in (["fuzz"], ["list"], ["replay", str(case), "--target"], ["explain", str(case), "--target"]):
            for name, near in (("example_box", ""), ("qeue", "queue"), ("canary_lek", "canary_leak")):
                with self.subTest(words=words, name=name):
                    code, _, err = self.run_command(*words, name)
                    self.assertEqual(1, code)
                    hint = f" (did you mean '{near}'?)" if near else ""
                    self.assertIn(f"Unknown target '{name}'{hint}; {valid}", err)
        code, _, err = self.run_command("replay", str(case))
        self.assertIn("TARGET is one of: exchange, queue and 2 canaries (canary_...).", err)

    def test_a_finding_keeps_its_report_and_twin(self) -> None:
        _, out, _ = self.fuzz("find:1", "--json", "--twin", "double_delete")
        case = Path(json.loads(out)["findings"][0]["file"])
        self.assertTrue((case.parent / findings.REPORT).read_text().startswith("FINDING"))
        self.assertEqual(
            ("exchange", "thread", "double_delete"), (lambda o: (o.target, o.sanitizer, o.twin))(findings.origin(case))
        )

    def test_unknown_names_list_the_valid_ones(self) -> None:
        for words, expected in (
            (["nope"], "Unknown target 'nope'; expected one of: exchange."),
            (["--twin", "nope"], "Unknown twin 'nope'; no source in fuzz/ or harness/ has it."),
            (["exchange", "--twin", "doubledelete"], "Unknown twin of exchange, 'doubledelete' (did you mean 'double_delete'?)"),
            (["--twin", "saf"], "Unknown twin 'saf' (did you mean 'safe'?)"),
            (["exchange", "--twin", "nope"], "Unknown twin of exchange, 'nope'; expected one of: double_delete, safe."),
            (["--strategy", "nope"], "Unknown strategy 'nope'; expected one of: bytes, random, pct, pos, surw, listed, free."),
            (["--granularity", "nope"], "Unknown granularity 'nope' (did you mean 'op'?); expected one of: op, sync, access."),
            (["--sanitizer", "nope"], "expected one of: thread, address"),
            (["--nope"], "--strategy"),
            (["--time", "-1"], "above 0"),
        ):
            with self.subTest(words=words):
                code, _, err = self.fuzz("", *words)
                self.assertEqual(1, code)
                self.assertIn(expected, err)

    def test_a_target_that_is_named_twice_runs_once(self) -> None:
        _, out, _ = self.fuzz("", "--json", "exchange", "exchange")
        self.assertEqual(1, len(json.loads(out)["rows"]))

    def test_list_has_the_shape_that_scripts_rely_on(self) -> None:
        self.target("exchange", "address")
        code, out, _ = self.run_command("list", "--json")
        self.assertEqual(0, code)
        target = json.loads(out)["targets"][0]
        self.assertEqual(
            ("exchange", ["thread", "address"], "double_delete"),
            (target["name"], target["sanitizers"], target["twins"][0]["name"]),
        )
        self.target("canary_leak")
        golden(self, "list.txt", self.run_command("list")[1])
        golden(self, "list-exchange.txt", self.run_command("list", "exchange")[1])
