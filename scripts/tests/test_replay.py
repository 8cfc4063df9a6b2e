"""Replays: the file finds its target, the count is right, and an end without a failure says so."""

import contextlib
import json
import re
import shlex
import signal
from pathlib import Path
from unittest import mock

from handoff_tool import builds, places
from tests.support import BAD_COMMENTS, BAD_METAS, World


class Replay(World):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(builds, "build", lambda *_: None)
        patch.start()
        self.addCleanup(patch.stop)
        self.target("exchange")
        self.target("exchange", "address")

    def case(self, place: str, content: str) -> str:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return str(path)

    def test_a_failing_file_fails_again_every_time(self) -> None:
        code, out, _ = self.run_command("replay", self.case("corpus/exchange/seed/crash-1", "crash"))
        self.assertEqual(77, code)
        self.assertTrue(out.startswith("FINDING"))
        self.assertIn("3 of 3 failed again (exchange, thread, safe; finding).", out)

    def test_json_has_the_agreed_shape(self) -> None:
        _, out, _ = self.run_command("replay", "--json", "--times", "2", self.case("corpus/exchange/seed/crash-1", "crash"))
        result = json.loads(out)
        self.assertEqual((2, 2, "double-delete--safe"), (result["replayed"], result["of"], result["signature"]))

    def test_a_clean_file_exits_0_and_says_so(self) -> None:
        code, out, _ = self.run_command("replay", self.case("corpus/exchange/seed/crash-1", "fine"))
        self.assertEqual(0, code)
        self.assertIn("did not fail in 3 fresh processes", out)

    def test_a_text_case_names_its_twin_and_sanitizer_in_comments(self) -> None:
        case = self.case(
            "corpus/exchange/regression/two", "handoff case 1\n# twin: double_delete\n# sanitizer: address\n# crash\n"
        )
        code, out, _ = self.run_command("replay", "--json", case)
        self.assertEqual(77, code)
        self.assertEqual(
            ("address", "double_delete", "double-delete--double_delete"),
            tuple(json.loads(out)["files"][0][k] for k in ("sanitizer", "twin", "signature")),
        )

    def test_a_folder_of_the_corpus_stands_for_the_text_cases_below_it(self) -> None:
        self.case("corpus/exchange/seed/one.txt", "handoff case 1\ncrash\n")
        self.case("corpus/exchange/regression/two.txt", "handoff case 1\n")
        code, out, _ = self.run_command("replay", "--json", str(self.folder / "corpus" / "exchange"))
        self.assertEqual((77, ["two.txt", "one.txt"]), (code, [Path(found["file"]).name for found in json.loads(out)["files"]]))

    def test_a_file_from_elsewhere_needs_a_target(self) -> None:
        case = self.case("crash-elsewhere", "crash")
        code, _, err = self.run_command("replay", case)
        self.assertEqual(1, code)
        self.assertIn(f"run: scripts/handoff replay {case} --target TARGET [--sanitizer thread|address] [--twin TWIN] (", err)
        self.assertIn("TARGET is one of: exchange.", err)
        self.assertEqual(77, self.run_command("replay", case, "--target", "exchange")[0])

    def test_a_command_that_is_printed_can_be_started_where_it_is_printed(self) -> None:
        case = self.case("crash-elsewhere", "crash")
        for here in (places.ROOT, places.ROOT / "scripts", self.folder):
            with self.subTest(here=here), contextlib.chdir(here):
                _, _, err = self.run_command("replay", case)
                _, out, _ = self.run_command("list")
                _, _, unknown = self.run_command("--version")
                found = [
                    *re.findall(r"run: (\S+) replay", err),
                    *re.findall(r"'(\S+) list TARGET'", out),
                    *re.findall(r"'(\S+) --help'", unknown),
                ]
                self.assertEqual((3, {True}), (len(found), {"/" in word and Path(word).is_file() for word in found}))

    def test_what_is_known_of_a_file_from_elsewhere_is_in_the_command(self) -> None:
        case = self.case("else where.txt", "handoff case 1\n# twin: double_delete\n# carrier: thread\n# crash\n")
        code, _, err = self.run_command("explain", case, "--sanitizer", "address")
        self.assertEqual((1, 1), (code, len(err.strip().splitlines())))
        command = f"explain '{case}' --target TARGET --sanitizer address --twin double_delete --carrier thread"
        self.assertIn(f"run: scripts/handoff {command} (", err)
        code, out, _ = self.run_command(*shlex.split(command.replace("TARGET", "exchange")))
        self.assertEqual((77, "FINDING"), (code, out.splitlines()[0]))

    def test_unknown_names_and_missing_files_are_refused(self) -> None:
        case = self.case("corpus/exchange/seed/crash-1", "crash")
        for words, expected in (
            (["/nowhere"], "found nothing there"),
            ([case, "--twin", "nope"], "seed/crash-1: Unknown twin of exchange, 'nope'; expected one of: double_delete"),
            ([case, "--target", "exchang"], "Unknown target 'exchang' (did you mean 'exchange'?); expected one of: exchange."),
            ([str(self.folder / "corpus")], "found a folder without any"),
        ):
            with self.subTest(words=words):
                code, _, err = self.run_command("replay", *words)
                self.assertEqual(1, code)
                self.assertIn(expected, err)

    def test_a_comment_with_which_a_case_cannot_be_run_is_refused(self) -> None:
        self.target("other")
        for number, (comment, expected) in enumerate(BAD_COMMENTS):
            case = self.case(f"corpus/exchange/regression/{number}.txt", f"handoff case 1\n{comment}\n# crash\n")
            for verb in (["replay"], ["explain"], ["explain", "--text"]):
                with self.subTest(verb=verb, comment=comment):
                    code, out, err = self.run_command(*verb, case)
                    self.assertEqual((1, ""), (code, out))
                    self.assertIn(f"{case}: ", err)
                    self.assertIn(expected, err)
                    self.assertEqual(1, len(err.strip().splitlines()))

    def test_a_misspelt_comment_is_refused_where_test_refuses_it(self) -> None:
        case = self.case("corpus/exchange/regression/one.txt", "handoff case 1\n# target: exchange\n# twim: double_delete\n")
        told = f"{case}:3: expected a comment that begins with '# twin:', found '# twim:'; correct it, or word it otherwise."
        for verb in (["replay"], ["explain"], ["explain", "--text"], ["replay", "--twin", "double_delete"]):
            with self.subTest(verb=verb):
                self.assertEqual((1, "", f"handoff {verb[0]}: {told}\n"), self.run_command(*verb, case))

    def test_what_is_found_instead_of_what_the_case_says_is_said(self) -> None:
        text = "handoff case 1\n# twin: double_delete\n# finds: double-delete  R1\n# breaks\n"
        case = self.case("corpus/exchange/regression/one.txt", text)
        code, out, _ = self.run_command("replay", case)
        self.assertEqual((77, False), (code, "expected" in out))
        Path(case).write_text(text.replace("R1", "R2"))
        code, out, _ = self.run_command("replay", case)
        self.assertEqual(77, code)
        told = "one.txt: expected 'double-delete R2', as its comment '# finds:' says, found 'double-delete R1'; correct"
        self.assertEqual(1, out.count(told))

    def test_a_flag_that_contradicts_a_comment_is_refused_before_anything_is_built(self) -> None:
        self.target("other")
        comments = "# target: exchange\n# twin: double_delete\n# sanitizer: thread\n"
        case = self.case("one.txt", f"handoff case 1\n{comments}# breaks\n")
        for verb in ("replay", "explain"):
            with self.subTest(verb=verb), mock.patch.object(builds, "build", lambda *_: self.fail("built")):
                code, out, err = self.run_command(verb, case, "--target", "other")
                self.assertEqual((1, ""), (code, out))
                told = "expected no other --target than exchange, as its comment '# target: exchange' says, found '--target other'"
                self.assertIn(f"{case}: {told}; leave the flag out", err)
        same = ("--target", "exchange", "--twin", "double_delete", "--sanitizer", "thread")
        self.assertEqual(77, self.run_command("replay", case, *same)[0])

    def test_a_flag_decides_between_a_comment_and_what_lies_beside_the_file(self) -> None:
        text = "handoff case 1\n# twin: double_delete\n# sanitizer: address\n# crash\n"
        case = self.case("findings/exchange/c/edited.txt", text)
        self.case("findings/exchange/c/meta.json", '{"target": "exchange", "sanitizer": "thread", "twin": "double_delete"}')
        code, _, err = self.run_command("replay", case)
        self.assertEqual(1, code)
        self.assertIn("expected '# sanitizer: thread', as meta.json beside it says, found '# sanitizer: address'", err)
        code, out, _ = self.run_command("replay", case, "--sanitizer", "address")
        self.assertEqual(77, code)
        self.assertIn("(exchange, address, twin double_delete; finding)", out)

    def test_what_cannot_be_read_beside_a_case_is_refused_unless_flags_say_it(self) -> None:
        case = self.case("findings/exchange/c--double_delete/crash-1", "crash")
        meta = Path(case).parent / "meta.json"
        for content, found in (*BAD_METAS, (None, "a folder")):
            if content is None:
                meta.unlink()
                meta.mkdir()
            else:
                meta.write_bytes(content)
            with self.subTest(content=(content or b"")[:40]):
                for words in (["replay"], ["explain"], ["explain", "--text"], ["replay", "--twin", "double_delete"]):
                    code, out, err = self.run_command(*words, case)
                    self.assertEqual((1, ""), (code, out))
                    expected = f"expected meta.json beside it to be a JSON object that names its target, found {found}; give"
                    self.assertIn(f"{case}: {expected}", err)
                    self.assertEqual(1, len(err.strip().splitlines()))
                code, _, err = self.run_command("replay", str(self.folder / "findings"))
                self.assertEqual((1, True), (code, err.endswith("move the case elsewhere. No file was run.\n")))
                flags = ["--target", "exchange", "--sanitizer", "address", "--twin", "double_delete"]
                code, out, _ = self.run_command("replay", case, "--times", "1", *flags)
                self.assertEqual(77, code)
                self.assertIn("(exchange, address, twin double_delete; finding)", out)

    def test_of_several_files_none_is_run_if_one_cannot_be(self) -> None:
        good = self.case("corpus/exchange/regression/a.txt", "handoff case 1\n# crash\n")
        bad = self.case("corpus/exchange/regression/b.txt", "handoff case 1\nsyntax\n")
        told = f"{bad}:2: expected an operation, found 'syntax'"
        folder = str(Path(bad).parent)
        for verb in (["replay"], ["explain"], ["explain", "--text"]):
            for files in ([bad], [bad, good], [good, bad], [folder]):
                with self.subTest(verb=verb, files=files):
                    more = "\n" if files == [bad] else ". No file was run.\n"
                    code, out, err = self.run_command(*verb, *files)
                    self.assertEqual((1, ""), (code, out))
                    self.assertIn(f"handoff {verb[0]}: {told}{more}", err)
                    self.assertEqual(1, len(err.strip().splitlines()))
        code, _, err = self.run_command("replay", good, "/nowhere")
        self.assertEqual(1, code)
        self.assertEqual("handoff replay: /nowhere: expected a case file, found nothing there. No file was run.\n", err)

    def test_explain_prints_the_finding_alone(self) -> None:
        code, out, _ = self.run_command("explain", self.case("corpus/exchange/seed/crash-1", "crash"))
        self.assertEqual((77, "FINDING\n    double-delete"), (code, "\n".join(out.splitlines()[:2])))

    def test_explain_prints_a_case_as_text_with_its_twin(self) -> None:
        case = self.case("findings/exchange/c/crash-1", "crash")
        self.case("findings/exchange/c/meta.json", '{"target": "exchange", "sanitizer": "address", "twin": "double_delete"}')
        code, out, _ = self.run_command("explain", "--text", case)
        self.assertEqual((0, "handoff case 1\n# twin: double_delete\n"), (code, out))

    def test_a_twins_case_as_text_says_what_is_found_with_it(self) -> None:
        case = self.case("findings/exchange/c/crash-1", "breaks")
        self.case("findings/exchange/c/meta.json", '{"target": "exchange", "sanitizer": "address", "twin": "double_delete"}')
        for words, expected in (
            ([], "handoff case 1\n# twin: double_delete\n# breaks\n# finds: double-delete R1\n"),
            (["--twin", "safe"], "handoff case 1\n# twin: safe\n# breaks\n"),  # as this target calls it
        ):
            code, out, _ = self.run_command("explain", "--text", case, *words)
            self.assertEqual((0, expected), (code, out))

    def test_a_twins_case_runs_on_the_safe_target_when_asked_to(self) -> None:
        case = self.case("corpus/exchange/regression/one.txt", "handoff case 1\n# twin: double_delete\n# breaks\n")
        self.assertEqual(77, self.run_command("replay", case)[0])
        code, out, _ = self.run_command("replay", case, "--twin", "safe")
        self.assertEqual(0, code)
        self.assertIn("did not fail in 3 fresh processes (exchange, thread, safe).", out)
        code, _, err = self.run_command("replay", case, "--twin=")
        self.assertEqual(1, code)
        self.assertIn("argument --twin: expected a twin, or 'safe', found nothing", err)

    def test_a_switch_that_was_never_reached_is_said(self) -> None:
        _, out, _ = self.run_command("replay", self.case("corpus/exchange/seed/one", "handoff case 1\n"))
        self.assertEqual(1, out.count("the switch on line 7 was never reached"))

    def test_what_is_no_case_is_refused_or_named(self) -> None:
        for name, content, expected in (
            ("empty", "", "found an empty file"),
            ("report.txt", "FINDING", "found what is kept beside one"),
            ("meta.json", "{}", "found what is kept beside one"),
            ("upper", "Handoff case 1\nthreads 2\n", "expected 'handoff case 1' as the first line"),
            ("late", "# a comment\nhandoff case 1\n", "with nothing before it"),
            ("notes.txt", "threads 2\nA give\n", "expected a text case, which begins with 'handoff case 1', as"),
            ("NOTES.TXT", "crash", "as its name ends in .TXT, found none; add that line, or give a binary case another name."),
            ("empty.txt", "", "found an empty file"),
            ("odd", "fine\nmore", "begins with the bytes ca 5e, found 'fine'; a target that is run by hand takes any"),
            ("crash", "\x7fELF\0", "found the bytes 7f 45 4c 46; a target"),
            ("a" * 39, "fine", "found 'fine'"),
        ):
            with self.subTest(file=name):
                code, _, err = self.run_command("replay", self.case(f"corpus/exchange/seed/{name}", content))
                self.assertEqual(1, code)
                self.assertIn(expected, err)
                self.assertEqual(1, len(err.strip().splitlines()))
        for name in ("crash-1", "timeout-0a", "a" * 40):  # as fuzzers name any bytes
            code, _, err = self.run_command("replay", self.case(f"corpus/exchange/seed/{name}", "fine"))
            self.assertEqual(0, code)
            self.assertIn("read as a binary case of 4 bytes", err)
        self.case("findings/exchange/c/meta.json", '{"target": "exchange"}')
        self.assertEqual(0, self.run_command("replay", self.case("findings/exchange/c/renamed", "fine"))[0])
        binary = Path(self.case("corpus/exchange/seed/binary.txt", ""))
        binary.write_bytes(b"\xca\x5e\x01")
        self.assertIn("expected a text case", self.run_command("replay", str(binary))[2])
        _, _, err = self.run_command("replay", self.case("corpus/exchange/seed/text", "handoff case 1\n"))
        self.assertEqual("", err)

    def test_a_folder_stands_for_every_finding_below_it(self) -> None:
        for name in ("a", "b"):
            self.case(f"findings/exchange/{name}/crash-1", "crash")
            self.case(f"findings/exchange/{name}/report.txt", "FINDING")
            self.case(f"findings/exchange/{name}/meta.json", '{"target": "exchange", "sanitizer": "thread"}')
        for folder in ("findings", "findings/exchange"):
            code, out, _ = self.run_command("replay", str(self.folder / folder), "--times", "1")
            self.assertEqual(77, code)
            self.assertIn("2 of 2 files failed again.", out)

    def test_an_interrupted_replay_leaves_nobody_behind(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                case = self.case("corpus/exchange/seed/timeout-1", "endless")
                started = Path(case + ".started")
                started.unlink(missing_ok=True)
                child = self.started("replay", case, "--times", "1")
                target = int(self.await_file(started, child))
                child.send_signal(number)
                _, err = child.communicate()
                self.assertEqual((72, "handoff replay: interrupted."), (child.returncode, err.strip().splitlines()[-1]))
                self.assertNotIn("Traceback", err)
                self.await_end(target)

    def test_errors_under_json_are_one_object(self) -> None:
        for words in (["replay", "/nowhere", "--json"], ["replay", "--json"], ["reply", "--json"], ["fuzz", "--nope", "--json"]):
            with self.subTest(words=words):
                code, out, _ = self.run_command(*words)
                self.assertEqual((1, ["error"]), (code, list(json.loads(out))))

    def test_variables_that_are_meant_for_targets_are_mentioned(self) -> None:
        with self.environment(HANDOFF_TWIN="double_delete"):
            code, _, err = self.run_command("replay", self.case("corpus/exchange/seed/text", "handoff case 1\n"))
        self.assertEqual(0, code)
        self.assertIn("HANDOFF_TWIN in the environment: ignored; use --twin.", err)
