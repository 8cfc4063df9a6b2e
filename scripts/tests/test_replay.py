"""Replays: the file finds its target, the count is right, and an end without a failure says so."""

import json
from unittest import mock

from handoff_tool import builds
from tests.support import World


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
        code, out, _ = self.run_command("replay", self.case("corpus/exchange/seed/one", "crash"))
        self.assertEqual(77, code)
        self.assertTrue(out.startswith("FINDING"))
        self.assertIn("3 of 3 failed again (exchange, thread; finding).", out)

    def test_json_has_the_agreed_shape(self) -> None:
        _, out, _ = self.run_command("replay", "--json", "--times", "2", self.case("corpus/exchange/seed/one", "crash"))
        result = json.loads(out)
        self.assertEqual((2, 2, "double-delete--safe"), (result["replayed"], result["of"], result["signature"]))

    def test_a_clean_file_exits_0_and_says_so(self) -> None:
        code, out, _ = self.run_command("replay", self.case("corpus/exchange/seed/one", "fine"))
        self.assertEqual(0, code)
        self.assertIn("did not fail again in 3 fresh processes", out)

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

    def test_a_file_from_elsewhere_needs_a_target(self) -> None:
        case = self.case("elsewhere", "crash")
        code, _, err = self.run_command("replay", case)
        self.assertEqual(1, code)
        self.assertIn("give --target, one of: exchange", err)
        self.assertEqual(77, self.run_command("replay", case, "--target", "exchange")[0])

    def test_unknown_names_and_missing_files_are_refused(self) -> None:
        case = self.case("corpus/exchange/seed/one", "crash")
        for words, expected in (
            (["/nowhere"], "found nothing there"),
            ([case, "--twin", "nope"], "expected one of: double_delete"),
            ([case, "--target", "nope"], "expected one of: exchange"),
        ):
            with self.subTest(words=words):
                code, _, err = self.run_command("replay", *words)
                self.assertEqual(1, code)
                self.assertIn(expected, err)

    def test_explain_prints_the_finding_alone(self) -> None:
        code, out, _ = self.run_command("explain", self.case("corpus/exchange/seed/one", "crash"))
        self.assertEqual((77, "FINDING\n    double-delete"), (code, "\n".join(out.splitlines()[:2])))
