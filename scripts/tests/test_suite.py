"""The suite: it counts what its stages say, goes on behind a failure, and ends with the plain line."""

import json
import os
from pathlib import Path
from unittest import mock

from handoff_tool import builds, canaries, setup, suite
from handoff_tool.outcome import Failure
from tests.support import BAD_COMMENTS, World

CTEST = """#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
cat > "$2" <<'END'
<testsuite><testcase name="one" status="run"/><testcase name="two" status="fail"><system-out>no good</system-out></testcase>
<testcase name="three" status="notrun"><skipped/></testcase></testsuite>
END
"""


class Suite(World):
    def setUp(self) -> None:
        super().setUp()
        self.tool("ctest", CTEST)
        self.cache.logs.mkdir(parents=True)
        for module, name, value in (
            (setup, "ensure", lambda *_: None),
            (suite, "_scripts", lambda stage, _: stage.judge(True, "")),
            (builds, "build", self.build),
            (canaries, "run_all", lambda _: []),
        ):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.broken = ""

    def case(self, name: str, text: str) -> Path:
        """A committed case of the target exchange."""
        path = self.folder / "corpus" / "exchange" / "regression" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"handoff case 1\n{text}")
        return path

    def build(self, _cache: object, preset: str, _targets: list[str]) -> None:
        if preset == self.broken:
            raise Failure("the compiler said no")

    def test_failures_are_counted_and_shown(self) -> None:
        code, out, err = self.run_command("test")
        self.assertEqual(1, code)
        self.assertEqual(
            "7 passed, 3 failed, 3 skipped", out.splitlines()[-1]
        )  # 1 script; per preset a build and one test of three
        self.assertIn("no good", err)

    def test_a_broken_build_fails_and_the_other_presets_go_on(self) -> None:
        self.broken = "thread"
        code, out, err = self.run_command("test")
        self.assertEqual((1, "5 passed, 3 failed, 2 skipped"), (code, out.splitlines()[-1]))
        self.assertIn("the compiler said no", err)

    def test_only_runs_the_stages_that_are_named(self) -> None:
        code, out, err = self.run_command("test", "--only", "scripts")
        self.assertEqual((0, "1 passed, 0 failed"), (code, out.splitlines()[-1]))
        self.assertNotIn("build", err)
        self.tool("ctest", CTEST.replace('"fail"', '"run"'))
        self.target("exchange")
        code, out, _ = self.run_command("test", "--only", "regression")
        self.assertEqual((1, "2 passed, 1 failed"), (code, out.splitlines()[-1]))  # two builds, and no case of its twin
        self.case("twin.txt", "# twin: double_delete\n# breaks\n")
        code, out, _ = self.run_command("test", "--only", "regression")
        self.assertEqual((0, "4 passed, 0 failed"), (code, out.splitlines()[-1]))
        code, _, err = self.run_command("test", "--only", "regressions")
        self.assertEqual(1, code)
        self.assertIn("(did you mean 'regression'?)", err)

    def test_a_target_alone_runs_in_the_stages_that_run_targets(self) -> None:
        self.target("exchange")
        self.target("capsule")
        self.case("twin.txt", "# twin: double_delete\n# breaks\n")
        code, out, _ = self.run_command("test", "--only", "regression", "--target", "exchange")
        self.assertEqual((0, "4 passed, 0 failed"), (code, out.splitlines()[-1]))  # nobody misses a case of the other's twin
        code, out, _ = self.run_command("test", "--only", "regression", "--target", "capsule")
        self.assertEqual((1, "2 passed, 1 failed"), (code, out.splitlines()[-1]))
        with mock.patch.object(suite, "SMOKE_SECONDS", 1.0):
            code, _, err = self.run_command("test", "--target", "exchange")
        self.assertEqual(0, code)
        self.assertNotIn("capsule", err)
        for stage in suite.RUNNING:
            self.assertIn(f"] {stage}", err)
        code, _, err = self.run_command("test", "--target", "exchange", "--only", "ctest")
        self.assertEqual(1, code)
        self.assertIn("--only: expected beside --target a stage that runs targets", err)
        code, _, err = self.run_command("test", "--target", "exchang")
        self.assertEqual(1, code)
        self.assertIn("did you mean 'exchange'?", err)

    def test_regressions_must_pass_when_safe_and_fail_on_their_twin(self) -> None:
        self.tool("ctest", CTEST.replace('"fail"', '"run"'))
        self.target("exchange")
        self.case("fixed", "")
        self.case("twin", "# twin: double_delete\n# breaks\n")
        with mock.patch.object(suite, "SMOKE_SECONDS", 1.0):
            self.assertEqual(0, self.run_command("test")[0])
            self.case("back", "# twin: double_delete\n")
            code, _, err = self.run_command("test")
        self.assertEqual(1, code)
        self.assertIn("does not fail on twin double_delete", err)

    def test_a_case_that_cannot_be_read_fails_with_its_reason(self) -> None:
        self.target("exchange")
        self.case("slip", "# twni: double_delete\n")
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        self.assertEqual(1, code)
        told = "slip:2: expected a comment that begins with '# twin:', found '# twni:'; correct it, or word it otherwise."
        self.assertIn(told, json.loads(out)["failures"][0])

    def test_a_syntax_error_is_one_failure(self) -> None:
        for sanitizer in ("thread", "address"):
            self.target("exchange", sanitizer)
        bad = self.case("bad.txt", "# twin: double_delete\nsyntax\n")
        self.case("good.txt", "# twin: double_delete\n# sanitizer: thread\n# breaks\n")
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        result = json.loads(out)
        self.assertEqual([f"regression corpus: {bad}:2: expected an operation, found 'syntax'"], result["failures"])
        self.assertEqual(1, code)
        self.assertEqual(2 + 2 + 1, result["passed"])  # two builds, the good one under both sanitizers and on its twin

    def test_a_comment_with_which_a_case_cannot_be_run_is_a_failure(self) -> None:
        for sanitizer in ("thread", "address"):
            self.target("exchange", sanitizer)
        self.case("twin.txt", "# twin: double_delete\n# breaks\n")
        paths = [self.case(f"{number}.txt", f"{comment}\n") for number, (comment, _) in enumerate(BAD_COMMENTS)]
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        failures = json.loads(out)["failures"]
        self.assertEqual((1, len(BAD_COMMENTS)), (code, len(failures)))
        for number, (_, expected) in enumerate(BAD_COMMENTS):
            self.assertIn(f"{paths[number]}: ", failures[number])
            self.assertIn(expected, failures[number])

    def test_a_case_says_what_is_found_on_its_twin(self) -> None:
        self.target("exchange")
        path = self.case("twin.txt", "# twin: double_delete\n# finds: double-delete R1\n# breaks\n")
        self.assertEqual(0, self.run_command("test", "--only", "regression")[0])
        path.write_text(path.read_text().replace("R1", "R2"))
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        self.assertEqual(1, code)
        expected = f"regression corpus: {path} (thread): expected 'double-delete R2', found 'double-delete R1'"
        self.assertEqual([expected], json.loads(out)["failures"])

    def test_a_twin_without_a_case_fails_until_one_is_looked_for(self) -> None:
        self.target("exchange")
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        self.assertEqual(1, code)
        self.assertIn("expected a case with a comment '# twin: double_delete', found none", json.loads(out)["failures"][0])
        with mock.patch.dict(os.environ, {"FAKE_PLAN": "find:1"}):  # fails on the safe target, too: a finding of its own
            self.assertEqual(1, self.run_command("test", "--only", "regression", "--update-golden")[0])
        with mock.patch.dict(os.environ, {"FAKE_PLAN": "find:1,breaks"}):
            self.assertEqual(0, self.run_command("test", "--only", "regression", "--update-golden")[0])
        path = self.folder / "corpus" / "exchange" / "regression" / "double_delete.txt"
        self.assertEqual("handoff case 1\n# twin: double_delete\n# breaks\n# finds: double-delete R1\n", path.read_text())

    def test_a_case_that_does_not_say_what_is_found_is_told(self) -> None:
        self.target("exchange")
        path = self.case("twin.txt", "# twin: double_delete\n# breaks\ngive box=1\n")
        self.assertEqual(0, self.run_command("test", "--only", "regression", "--update-golden")[0])
        told = "handoff case 1\n# twin: double_delete\n# breaks\n# finds: double-delete R1\ngive box=1\n"
        self.assertEqual(told, path.read_text())

    def test_a_case_that_cannot_be_read_stays_as_it_is(self) -> None:
        self.target("exchange")
        bad = self.case("bad.txt", "# twin: double_delete\nsyntax\n")
        text = bad.read_text()
        with mock.patch.dict(os.environ, {"FAKE_PLAN": "find:1,breaks"}):
            code, out, _ = self.run_command("test", "--only", "regression", "--update-golden", "--json")
        self.assertEqual((1, text), (code, bad.read_text()))
        self.assertEqual([f"regression corpus: {bad}:2: expected an operation, found 'syntax'"], json.loads(out)["failures"])

    def test_cases_of_no_target_are_a_failure(self) -> None:
        self.target("exchange")
        (self.folder / "corpus" / "exchnge" / "regression").mkdir(parents=True)
        code, out, _ = self.run_command("test", "--only", "regression", "--json")
        self.assertEqual(1, code)
        told = "corpus/exchnge: Unknown target 'exchnge' (did you mean 'exchange'?); expected one of: exchange."
        self.assertIn(told, json.loads(out)["failures"][0])

    def test_seeds_are_read_before_they_are_fuzzed(self) -> None:
        self.target("exchange")
        folder = self.folder / "corpus" / "exchange" / "seed"
        folder.mkdir(parents=True)
        (folder / "bad").write_text("crash")
        with mock.patch.object(suite, "SMOKE_SECONDS", 1.0):
            code, _, err = self.run_command("test", "--only", "smoke")
        self.assertEqual(1, code)
        self.assertIn("exchange (thread), its seeds: exit 77: DEDUP_TOKEN: double-delete--safe", err)
