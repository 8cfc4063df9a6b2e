"""Benchmarks and canaries: what is read, what is run, and what is said of it."""

import unittest
from pathlib import Path

from handoff_tool import bench, canaries, targets
from handoff_tool.outcome import Failure
from tests.support import World


class Throughput(unittest.TestCase):
    def test_each_row_stands_beside_its_baseline(self) -> None:
        rounds = [
            {"exchange/fiber/op": 1000.4 + shift, "exchange/fiber/access": 500.0, "exchange/baseline/op": 10.0 + shift}
            for shift in (0.0, 5.0, -5.0)
        ]
        rows = bench.throughput_rows("thread", rounds)
        self.assertEqual(
            [("op", 1000, 995, 1005, 10), ("access", 500, 500, 500, 10)],
            [tuple(r[key] for key in ("granularity", "per_second", "slowest", "fastest", "baseline_per_second")) for r in rows],
        )
        self.assertIn("100.0", bench.throughput_text({"rows": rows}))


class ReplayBench(World):
    def test_sources_cover_every_mode_and_leave_the_unrepeatable_out(self) -> None:
        twin = {"name": "broken"}
        everything = {
            name: targets.Target(name, twins=[twin], binaries={"thread": Path("x")}) for name in ("one", "canary_nondeterminism")
        }
        spread = bench.sources(everything)
        self.assertEqual({"one"}, {source.target.name for source in spread})
        self.assertEqual(13, len({(source.strategy, source.granularity) for source in spread}))
        self.assertNotIn("free", {source.strategy for source in spread})

    def test_collected_findings_are_replayed(self) -> None:
        path = self.target("exchange")
        target = targets.Target("exchange", twins=[{"name": "double_delete"}], binaries={"thread": path})
        with self.environment(FAKE_PLAN="find:1"), open("/dev/null", "w") as log:
            result = bench.replays({"exchange": target}, 3, 2, log)
        self.assertEqual(
            (3, 6, 6, 3, 100.0), tuple(result[key] for key in ("findings", "replayed", "of", "every_time", "confirmed_percent"))
        )


class Canaries(World):
    def table(self, text: str) -> Path:
        path = self.folder / "expectations.txt"
        path.write_text(text)
        return path

    def test_the_table_is_read(self) -> None:
        rows = canaries.read(self.table("# comment\n\ncanary_a  twin  thread  -  x|y  z  # more\n"))
        self.assertEqual(
            [canaries.Row("canary_a", "twin", "thread", {"op": frozenset(), "sync": frozenset("xy"), "access": frozenset("z")})],
            rows,
        )

    def test_a_broken_row_is_refused_with_its_line(self) -> None:
        with self.assertRaisesRegex(Failure, "expectations.txt:2: expected"):
            canaries.read(self.table("\ncanary_a twin\n"))

    def check(self, expected: str, plan: str) -> str:
        target = targets.Target("exchange", binaries={"thread": self.target("exchange")})
        with self.environment(FAKE_PLAN=plan):
            return canaries.run(
                canaries.Check(target, "thread", targets.Choices("", "random", "op"), frozenset(expected.split()))
            )

    def test_a_canary_that_is_found_and_replays_passes(self) -> None:
        self.assertEqual("", self.check("a::b", "find:1"))

    def test_a_silent_canary_that_should_sing_fails(self) -> None:
        self.assertIn("expected a::b, found exit 0", self.check("a::b", ""))

    def test_another_kind_than_expected_fails(self) -> None:
        self.assertIn("expected deadlock, found exit 77, a::b", self.check("deadlock", "find:1"))

    def test_a_safe_canary_that_sings_fails(self) -> None:
        self.assertIn("expected silence, found exit 77", self.check("", "find:1"))
        self.assertEqual("", self.check("", ""))
