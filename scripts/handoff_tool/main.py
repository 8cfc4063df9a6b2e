"""The parser: verbs, their flags, and one place that turns an outcome into an exit code."""

import argparse
import contextlib
import difflib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from handoff_tool import bench, builds, children, interpreter, machine, suite, targets
from handoff_tool import verbs as verbs_of
from handoff_tool.outcome import FAILED, INTERRUPTED, Failure, choose
from handoff_tool.places import Cache, command


class Usage(Failure):
    """A line that cannot be read. The text begins with the command's name."""


class Parser(argparse.ArgumentParser):
    verbs: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{self.prog}: {message}")

    def refuse(self, words: list[str]) -> NoReturn:
        flags = sorted(option for action in self._actions for option in action.option_strings if option.startswith("--"))
        self.error(f"unknown argument {words[0]}; the flags of '{self.prog}' are: {', '.join(flags)}")


def one_of(kind: str, valid: Sequence[str]) -> Callable[[str], str]:
    """A flag's type that lists the valid values in our words, the same under every version of Python."""

    def check(text: str) -> str:
        try:
            return choose(kind, text, list(valid))
        except Failure as failure:
            raise argparse.ArgumentTypeError(str(failure)) from failure

    return check


def number(what: str, kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], Any]:
    """A flag's type: a number of that kind from `least` to `most`."""

    def check(text: str) -> Any:
        with contextlib.suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"expected {what}, found {text}")

    return check


positive = number("a number of seconds above 0", float, 1e-3, 1e9)
count = number("a number from 1", int, 1, 10**9)
byte = number("a number from 0 to 255", int, 0, 255)


def twin(text: str) -> str:
    """A flag's type; whether there is such a one is asked later."""
    if not text:
        raise argparse.ArgumentTypeError(f"expected a twin, or '{targets.SAFE}', found nothing")
    return text


seed = number("a number of 32 bits", int, -(2**31), 2**32 - 1)  # libFuzzer aborts at one that its own type does not hold


def parser() -> Parser:
    top = Parser(prog="handoff", description="Finds races in the hand-over of tensors, and replays them.", allow_abbrev=False)
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)

    def verb(name: str, function: Any, text: str) -> Parser:
        added = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(function=function, parser=added)
        added.add_argument("--cache", metavar="FOLDER", help="cache folder (default: $HANDOFF_CACHE or ~/.cache/handoff)")
        added.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else there")
        return added

    def sanitizer(added: Parser) -> None:
        added.add_argument("--sanitizer", metavar="S", type=one_of("sanitizer", interpreter.SANITIZERS), help="thread or address")

    def carrier(added: Parser) -> None:
        added.add_argument(
            "--carrier",
            metavar="C",
            type=one_of("carrier", targets.CARRIERS),
            help="fiber or thread, instead of the target's own",
        )

    added = verb("setup", verbs_of.setup, "Install what is missing and build a free-threaded CPython per sanitizer.")
    added.add_argument("--python-source", metavar="PATH|URL", help="CPython source tarball, 3.13 or newer (a URL needs --sha256)")
    added.add_argument("--sha256", metavar="HASH", help="expected hash of --python-source")
    added.add_argument("--dlpack-include", metavar="PATH", help="folder that holds dlpack/dlpack.h")
    verb("doctor", verbs_of.doctor, "Say what is there and what is missing, and prove the detectors alive.")
    added = verb("build", verbs_of.build, "Configure and compile; without options both sanitizers.")
    sanitizer(added)
    added.add_argument(
        "--preset", metavar="NAME", type=one_of("preset", builds.PRESETS), help=f"one of {', '.join(builds.PRESETS)}"
    )
    added.add_argument("--target", metavar="X", action="append", help="only this CMake target (may be repeated)")
    added = verb("list", verbs_of.list_targets, "List the targets; those that are named with their operations and twins.")
    added.add_argument("names", metavar="TARGET", nargs="*", help="targets to show in full")

    added = verb(
        "fuzz", verbs_of.fuzz, "Fuzz targets, all of them under every sanitizer by default; exit 77 when something was found."
    )
    added.add_argument("names", metavar="TARGET", nargs="*", help="targets to run (default: all but the canaries; see 'list')")
    sanitizer(added)
    added.add_argument(
        "--time", metavar="SECONDS", type=positive, default=60.0, help="seconds for each target and sanitizer (default 60)"
    )
    added.add_argument("--seed", metavar="N", type=seed, help="libFuzzer's seed")
    added.add_argument("--twin", metavar="T", type=twin, help=f"run this broken twin (default: {targets.SAFE}, the subject as it is)")
    added.add_argument(
        "--strategy",
        metavar="S",
        type=one_of("strategy", targets.STRATEGIES),
        help=f"for all cases: {', '.join(targets.STRATEGIES)}",
    )
    added.add_argument(
        "--granularity",
        metavar="G",
        type=one_of("granularity", targets.GRANULARITIES),
        help=f"for all cases: {', '.join(targets.GRANULARITIES)}",
    )
    added.add_argument("--parameter", metavar="N", type=byte, help="the strategy's parameter for all cases (0 to 255)")

    carrier(added)

    def files(added: Parser) -> None:
        added.add_argument("files", metavar="FILE", nargs="+", help="case file, text or binary, or a folder of findings")
        added.add_argument("--target", metavar="T", help="target (default: from the file's place)")
        sanitizer(added)
        told = f"broken twin, or {targets.SAFE} (default: as recorded beside the file or in its comments)"
        added.add_argument("--twin", metavar="T", type=twin, help=told)
        carrier(added)

    added = verb(
        "replay",
        verbs_of.replay,
        "Run case files again, each time as the first run of a fresh process; exit 77 if one fails again. "
        "Of several files none is run if one cannot be.",
    )
    files(added)
    added.add_argument("--times", metavar="N", type=count, default=3, help="processes a file (default 3)")

    added = verb("explain", verbs_of.explain, "Run a case file once and print the finding alone.")
    files(added)
    added.add_argument("--text", action="store_true", help="print the case as text instead, to be kept as a regression test")

    added = verb("coverage", verbs_of.coverage, "Say which lines of the subjects the committed corpus reaches.")
    added.add_argument("names", metavar="TARGET", nargs="*", help="targets to run (default: all but the canaries; see 'list')")

    added = verb("bench", verbs_of.bench, "Measure: executions per second, or how many findings replay.")
    added.add_argument(
        "kind", metavar="KIND", type=one_of("kind of benchmark", bench.KINDS), help=f"one of {', '.join(bench.KINDS)}"
    )
    sanitizer(added)
    added.add_argument("--findings", metavar="N", type=count, default=200, help="replay: findings to collect (default 200)")
    added.add_argument("--times", metavar="N", type=count, default=20, help="replay: fresh processes for each file (default 20)")

    added = verb("test", verbs_of.test, "Build everything and run all tests; ends with a line 'N passed, N failed'.")
    added.add_argument("--update-golden", action="store_true", help="rewrite the golden texts instead of comparing with them")
    added.add_argument(
        "--only",
        metavar="STAGE",
        action="append",
        type=one_of("stage", suite.STAGES),
        help=f"one of {', '.join(suite.STAGES)} (may be repeated)",
    )
    told = f"this target alone, in {', '.join(suite.RUNNING)} (may be repeated)"
    added.add_argument("--target", metavar="T", action="append", help=told)
    top.verbs = list(verbs.choices)
    return top


def _read(words: list[str]) -> argparse.Namespace:
    top = parser()
    if words[:1] == ["help"]:  # a habit from elsewhere
        words = [*(word for word in words[1:2] if word in top.verbs), "--help"]
    if not words:
        raise Usage(f"{top.format_help()}\nExpected a verb, found none; '{command()} VERB --help' says more of each.")
    if not words[0].startswith("-"):
        choose("verb", words[0], list(top.verbs))
    elif words[0] not in ("-h", "--help"):
        raise Usage(f"handoff: expected a verb first, found {words[0]}; flags go behind it. '{command()} --help' lists the verbs.")
    args, unknown = top.parse_known_args(words)
    if unknown:
        args.parser.refuse(unknown)
    return args


# What is read by this command and its tests, and, run by hand, by a target (harness/run/options.cc, address_space.cc).
VARIABLES = (
    "HANDOFF_CACHE",
    "HANDOFF_UPDATE_GOLDEN",
    *targets.Choices("x", "x", "x", "x", "x").environment(),
    "HANDOFF_CONFIRM_SECONDS",
    "HANDOFF_DESCRIBE",
    "HANDOFF_PRINT_TEXT",
    "HANDOFF_REPLAY_JSON",
    "HANDOFF_WHY",
    "HANDOFF_ADDRESSES_FIXED",
)


def _check_variables() -> None:
    """A misspelt one would be ignored in silence. Others that begin likewise are their owner's."""
    for name in sorted(os.environ):
        if name.startswith("HANDOFF_") and difflib.get_close_matches(name, VARIABLES, 1, 0.9):
            choose("environment variable", name, VARIABLES)


def _warn_of_variables(args: argparse.Namespace) -> None:
    """They are for targets that are run by hand; a verb takes none of them over, or a replay would not be one."""
    found = [name for name in targets.Choices("x", "x", "x", "x", "x").environment() if os.environ.get(name)]
    if found:
        flags = [flag for name in found if hasattr(args, flag := name.removeprefix("HANDOFF_").lower())]
        use = f"; use {', '.join('--' + flag for flag in flags)}" if flags else ""
        print(f"handoff: {', '.join(found)} in the environment: ignored{use}.", file=sys.stderr)


def open_closed_streams() -> None:
    """A stream that was closed by the caller leads nowhere, and names that it cannot spell are escaped.

    Whatever is opened next gets a closed stream's number, and a shell script that starts Python hands on its own file like that.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        usable = _can_be_written(number)
        if not usable:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        if not usable or getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _can_be_written(number: int) -> bool:
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def main(words: list[str]) -> int:
    """Runs one command line; everything that goes wrong ends here, as a sentence and an exit code."""

    def end(text: str, code: int) -> int:
        print(text, file=sys.stderr)
        if "--json" in words:
            with contextlib.suppress(OSError):  # a full disk, once more
                print(json.dumps({"error": text}), flush=True)
        return code

    with children.signals_interrupt():
        try:
            args = _read(words)
            _check_variables()
            machine.raise_address_space_limit()
            _warn_of_variables(args)
            return int(args.function(args, Cache.find(args.cache)))
        except Usage as failure:
            return end(str(failure), FAILED)
        except Failure as failure:
            return end(f"handoff {words[0]}: {failure}", FAILED)
        except BrokenPipeError:  # whoever read our output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return FAILED
        except (OSError, MemoryError, RuntimeError) as error:  # of the system: a full disk, a file that may not be read, no home
            return end(f"handoff {' '.join(words[:1])}: the system refused: {str(error) or type(error).__name__}.", FAILED)
        except KeyboardInterrupt:
            return end(f"handoff {' '.join(words[:1])}: interrupted.", INTERRUPTED)
