"""What a campaign says at its end of what it has found, confirmed or not."""

import json
import re
import shutil
import threading
import time
from pathlib import Path

from handoff_tool import campaign, findings, targets
from tests.support import Campaigns


class Summary(Campaigns):
    def again(self, plan: str, *words: str) -> tuple[int, str, str]:
        """A campaign whose target begins with its first launch."""
        self.cache.corpus("exchange").joinpath("launches").unlink(missing_ok=True)
        return self.fuzz(plan, "--time", "1", *words)

    def kept(self) -> list[str]:
        return sorted(folder.name for folder in (self.folder / "findings" / "exchange").iterdir())

    def test_what_stayed_unconfirmed_is_named_and_counted(self) -> None:
        code, out, _ = self.again("find:1,unconfirmed")
        self.assertEqual(77, code)
        self.assertIn("\nexchange (thread): a::b (unconfirmed)\n", out)
        self.assertRegex(out, r"Ended after \d+ s with 0 findings and 1 unconfirmed\.\n$")
        report, folder = Path(re.findall(r"read it: (\S+)", out)[0]), Path(re.findall(r"replay it: \S+ replay (\S+)", out)[0])
        self.assertEqual((True, report.parent), (report.is_file(), folder))
        _, out, _ = self.again("find:1,unconfirmed", "--json")
        result = json.loads(out)
        self.assertEqual(([], ["a::b"]), (result["findings"], [found["signature"] for found in result["unconfirmed"]]))
        self.assertEqual(folder, Path(result["unconfirmed"][0]["file"]).parent)

    def test_without_a_file_there_is_nothing_to_replay(self) -> None:
        self.again("find:1,unconfirmed")
        [folder] = (self.folder / "findings" / "exchange").iterdir()
        job = campaign.Job(targets.built()["exchange"], "thread", doubtful={"a::b": folder})
        self.assertIn("replay it", campaign.text([job], False, 1))
        for file in findings.case_files(folder):
            file.unlink()
        self.assertNotIn("replay it", campaign.text([job], False, 1))
        self.assertIn("read it", campaign.text([job], False, 1))

    def test_what_is_confirmed_replaces_the_same_unconfirmed_of_its_twin_alone(self) -> None:
        name = findings.folder_name("a::b")
        self.again("find:1,unconfirmed")
        self.again("find:1,unconfirmed", "--twin", "double_delete")
        self.assertEqual([f"unconfirmed-{name}", f"unconfirmed-{name}--double_delete"], self.kept())
        _, out, _ = self.again("find:1", "--twin", "double_delete")
        self.assertEqual([f"{name}--double_delete", f"unconfirmed-{name}"], self.kept())
        self.assertNotIn("unconfirmed.", out)

    def test_what_was_confirmed_later_in_a_campaign_is_no_longer_in_doubt(self) -> None:
        self.again("find:1,unconfirmed")
        [folder] = (self.folder / "findings" / "exchange").iterdir()
        job = campaign.Job(targets.built()["exchange"], "thread", doubtful={"a::b": folder})
        self.again("find:1")
        self.assertEqual({}, job.in_doubt())

    def test_a_twin_that_another_sanitizer_notices_is_said_where_nothing_was_found(self) -> None:
        for detector, found, told in (
            ("address", {}, True),
            ("thread", {}, False),
            ("ledger", {}, False),
            ("address", {"c": self.folder}, False),
        ):
            with self.subTest(detector=detector, found=found):
                target = targets.Target("exchange", twins=[{"name": "double_delete", "detector": detector}])
                job = campaign.Job(target, "thread", found=found)
                line = "exchange (thread): twin double_delete is noticed by the other sanitizer: --sanitizer address\n"
                self.assertEqual(told, line in campaign.text([job], False, 1, "double_delete"))
                self.assertNotIn(" is noticed by ", campaign.text([job], False, 1))
        target = targets.Target("exchange", twins=[{"name": "double_delete", "detector": "address"}])
        both = [campaign.Job(target, sanitizer) for sanitizer in ("thread", "address")]
        self.assertNotIn(" is noticed by ", campaign.text(both, False, 1, "double_delete"))
        binary = self.target("exchange")
        binary.write_text(binary.read_text().replace('"ledger"', '"address"'))
        self.assertIn(line, self.again("", "exchange", "--twin", "double_delete")[1])

    def test_a_folder_that_only_bears_the_name_stays(self) -> None:
        folder = self.folder / "findings" / "exchange" / f"unconfirmed-{findings.folder_name('a::b')}"
        folder.mkdir(parents=True)
        (folder / findings.META).write_text('{"target": "exchange", "signature": "another"}')
        self.again("find:1")
        self.assertTrue((folder / findings.META).is_file())

    def test_whoever_waits_for_a_folder_that_is_removed_makes_it_anew(self) -> None:
        folder = self.folder / "findings" / "exchange" / "c"

        def wait() -> None:
            with findings._locked(folder):
                (folder / "there").touch()

        with findings._locked(folder):
            thread = threading.Thread(target=wait)
            thread.start()
            time.sleep(0.2)  # until it waits; if it does not yet, the test passes all the same
            shutil.rmtree(folder)
        thread.join()
        self.assertTrue((folder / "there").exists())
