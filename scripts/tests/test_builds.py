"""Builds: each is shown once, with what is built, and with an estimate where one is known."""

import re
from pathlib import Path
from unittest import mock

from handoff_tool import builds, setup, toolchain
from tests.support import FAKE_TARGET, World

# Configures by name only, and "compiles" every target that it is asked for.
CMAKE = """#!/bin/sh
if [ "$1" = --preset ]; then touch build/$2/build.ninja; exit; fi
mkdir -p "$2/fuzz"
folder=$2
while [ $# -gt 0 ]; do
  if [ "$1" = --target ]; then cp fake_target "$folder/fuzz/${2##*/}"; echo "$2" >> "$folder/.ninja_log"; shift; fi
  shift
done
"""
NINJA = "#!/bin/sh\nfor x in exchange queue; do echo fuzz/$x: CXX_EXECUTABLE_LINKER__x; done\n"


class Builds(World):
    def setUp(self) -> None:
        super().setUp()
        chain = toolchain.Toolchain("clang", "clang++", "clang version 99.0", 99)
        parts = setup.Parts(chain, self.folder, {})
        patch = mock.patch.object(setup, "ensure", lambda *_: parts)
        patch.start()
        self.addCleanup(patch.stop)
        self.tool("cmake", CMAKE)
        self.tool("ninja", NINJA)
        fake = self.folder / "fake_target"
        fake.write_text(FAKE_TARGET)
        fake.chmod(0o755)
        (self.folder / "fuzz").mkdir()
        for name in ("exchange", "queue"):
            (self.folder / "fuzz" / f"{name}.cc").write_text('"double_delete"')

    def shown(self, *words: str) -> list[str]:
        """The lines about builds, as a log file gets them, without how long they took."""
        _, _, err = self.run_command(*words)
        return [re.sub(r"in \d+ s", "in N s", line) for line in err.splitlines() if "] build " in line]

    def built(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder / "build")) for path in Path(self.folder / "build").glob("*/fuzz/*"))

    def test_the_first_fuzz_builds_what_it_names_and_shows_it_once(self) -> None:
        shown = self.shown("fuzz", "exchange", "--sanitizer", "address", "--twin", "double_delete", "--time", "1")
        self.assertEqual(
            ["[1/1] build exchange (address) (about 35 s)", "[1/1] build exchange (address): done in N s"],
            shown,
        )
        self.assertEqual(["address/fuzz/exchange"], self.built())

    def test_each_sanitizer_is_one_build(self) -> None:
        shown = self.shown("fuzz", "exchange", "queue", "--time", "1")
        self.assertEqual(
            [f"[{number}/2] build exchange, queue ({name}): done in N s" for number, name in ((1, "thread"), (2, "address"))],
            shown[1::2],
        )

    def test_list_builds_what_it_names_and_nobody_has_built(self) -> None:
        shown = self.shown("list", "exchange", "exchange")[::2]
        self.assertEqual(["[1/1] build exchange (thread) (about 35 s)"], shown)
        self.assertEqual(["thread/fuzz/exchange"], self.built())
        self.assertEqual(["[1/1] build queue (thread)"], self.shown("list", "queue", "exchange")[::2])
        self.assertEqual([], self.shown("list", "exchange", "queue"))

    def test_list_without_a_name_builds_nothing(self) -> None:
        code, out, err = self.run_command("list")
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(["exchange  (not built)", "queue  (not built)"], out.splitlines()[:2])
        self.assertIn("builds one and shows", out)
        self.shown("list", "exchange")
        self.assertEqual([], self.shown("list"))
        self.assertIn("exchange  (thread; fibers)", self.run_command("list")[1])

    def test_a_sanitizer_and_a_preset_are_one_too_many(self) -> None:
        code, _, err = self.run_command("build", "--sanitizer", "address", "--preset", "gcc")
        self.assertEqual(1, code)
        self.assertIn("Expected either --sanitizer or --preset, found both", err)

    def test_nobody_knows_how_long_a_second_build_takes(self) -> None:
        self.shown("fuzz", "--sanitizer", "thread", "--time", "1")
        self.assertEqual(
            ["[1/1] build all targets (thread)", "[1/1] build all targets (thread): done in N s"],
            self.shown("fuzz", "--sanitizer", "thread", "--time", "1"),
        )
        self.assertEqual("all targets and the unit tests", builds.what([]))
