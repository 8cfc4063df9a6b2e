"""Coverage: which lines are a twin's own, what is read of a report, and what is said of it."""

import json
import unittest
from unittest import mock

from handoff_tool import builds, coverage, toolchain
from handoff_tool.twin_lines import twin_lines
from tests.support import World, golden

SAFE = "int Safe() { return 1; }\n"


class TwinLines(unittest.TestCase):
    def own(self, *lines: str) -> list[int]:
        return sorted(twin_lines("\n".join(lines) + "\n"))

    def test_what_a_defect_guards_is_the_twins(self) -> None:
        self.assertEqual([2, 3], self.own("if (Has(Defect::kX)) {", "  Wrong();", "}", "Right();"))
        self.assertEqual([2], self.own("if (last && Has(Defect::kX))", "  Wrong();", "else", "  Right();"))
        self.assertEqual([4], self.own("if (!Has(Defect::kX)) {", "  Right();", "} else {", "  Wrong(); }", "Right();"))

    def test_what_follows_an_if_that_always_leaves_is_the_twins(self) -> None:
        source = ("void F() {", "  if (!Has(Defect::kX)) return Right();", "  Wrong();", "}", "void G() {", "  Right();", "}")
        self.assertEqual([3], self.own(*source))
        self.assertEqual([], self.own("if (!Has(Defect::kX)) Right();", "Both();"))

    def test_what_the_safe_code_can_reach_is_not(self) -> None:
        self.assertEqual([], self.own("if (last || Has(Defect::kX))", "  Right();"))
        self.assertEqual([], self.own("if (!Has(Defect::kX) && last)", "  Right();"))
        self.assertEqual([], self.own("const bool wrong = Has(Defect::kX);", "if (wrong)", "  Wrong();"))
        self.assertEqual([], self.own("// if (Has(Defect::kX)) {", "Right();", 'Say("if (Has(Defect::kX)) {");', "Right();"))

    def test_a_verdict_is_the_twins_with_the_brace_behind_it(self) -> None:
        source = ("if (bad) {", '  oracle::Fail("kind", "R1",', '               "text; with }");', "}", "Right();")
        self.assertEqual([2, 3, 4], self.own(*source))
        self.assertEqual([2], self.own("void F() { if (bad)", "  Fail(text);", "}"))
        self.assertEqual([], self.own("void Fail(const char* text);", "Right();"))

    def test_a_function_that_only_a_twin_calls_is_the_twins(self) -> None:
        calls = ("int Deeper() {", "  return 2;", "}", "int Wrong(int x) {", "  return Deeper();", "}", "int F() {")
        self.assertEqual([1, 2, 3, 4, 5, 6], self.own(*calls, "  if (Has(Defect::kX)) return Wrong(1);", "  return 1;", "}"))
        self.assertEqual([], self.own(*calls, "  return Wrong(1);", "}"))


class Report(World):
    def setUp(self) -> None:
        super().setUp()
        for module, name, value in ((coverage, "ROOT", self.folder), (builds, "build", lambda *_: None)):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        toolchain.find.cache_clear()
        self.addCleanup(toolchain.find.cache_clear)
        self.tool("clang-99", "#!/bin/sh\necho clang version 99.0.0\n")
        self.tool("clang++-99", "#!/bin/sh\n")
        self.tool("llvm-profdata", '#!/bin/sh\ntouch "$3"\n')
        self.tool("llvm-cov", f'#!/bin/sh\ncat "{self.folder}/report"\n')
        self.target("exchange", builds.COVERAGE)
        self.case("seed/one.txt", "handoff case 1\n")
        self.report = ""

    def case(self, place: str, text: str) -> None:
        path = self.folder / "corpus" / "exchange" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def source(self, name: str, text: str, counts: dict[int, int]) -> None:
        """A file of the subjects, and what llvm-cov will say of it."""
        path = self.folder / coverage.PLACE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        lines = "".join(f"DA:{line},{count}\n" for line, count in counts.items())
        self.report += f"SF:{path}\nFN:1,F\n{lines}end_of_record\n"
        (self.folder / "report").write_text(self.report)

    def test_lines_are_counted_without_the_twins(self) -> None:
        box = "A\nB\nC\nD\nE\nif (Has(Defect::kX)) {\n  Wrong();\n}\n"
        self.source("box/box.cc", box, {1: 4, 2: 0, 3: 0, 5: 0, 6: 1, 7: 0, 8: 0})
        self.source("queue/queue.h", SAFE, {1: 2})
        self.source("canary/canary.cc", SAFE, {1: 0})
        self.source("box/box_test.cc", SAFE, {1: 0})
        code, out, _ = self.run_command("coverage", "--json")
        self.assertEqual(0, code)
        result = json.loads(out)
        expected = {"harness/subjects/box": 40.0, "harness/subjects/queue": 100.0, "harness/subjects": 50.0}
        self.assertEqual(expected, result["lines_percent"])
        self.assertEqual(
            {"file": "harness/subjects/box/box.cc", "lines": 5, "covered": 2, "percent": 40.0, "twins": 2, "missed": [2, 3, 5]},
            result["files"][0],
        )
        golden(self, "coverage.txt", self.run_command("coverage", "exchange")[1])

    def test_a_case_that_fails_ends_the_command(self) -> None:
        self.case("regression/back.txt", "crash")
        code, _, err = self.run_command("coverage")
        self.assertEqual(1, code)
        self.assertIn("Expected every committed case of exchange to pass, and one ended with exit code 77", err)

    def test_a_target_without_cases_is_an_error(self) -> None:
        (self.folder / "corpus" / "exchange" / "seed" / "one.txt").unlink()
        code, _, err = self.run_command("coverage")
        self.assertEqual(1, code)
        self.assertIn("Expected cases of exchange", err)

    def test_an_unknown_target_is_refused(self) -> None:
        code, _, err = self.run_command("coverage", "nosuch")
        self.assertEqual(1, code)
        self.assertIn("Unknown target 'nosuch'; expected one of: exchange.", err)
