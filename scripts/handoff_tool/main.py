"""The parser: verbs, their flags, and one place that turns an outcome into an exit code."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from handoff_tool import builds, doctor, interpreter, machine, setup, sources
from handoff_tool.outcome import CLEAN, FAILED, INTERRUPTED, Failure, choose
from handoff_tool.places import Cache
from handoff_tool.progress import Progress


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Usage errors exit with 1 like every other error of ours, and end with the valid choices."""
        flags = sorted(option for action in self._actions for option in action.option_strings if option.startswith("--"))
        more = f"\nFlags of '{self.prog}': {', '.join(flags)}" if "unrecognized" in message else ""
        print(f"{self.prog}: {message}{more}", file=sys.stderr)
        sys.exit(FAILED)


def emit(args: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    """One JSON object and nothing else with --json, the text otherwise."""
    print(json.dumps(data) if args.json else text, flush=True)


def _options(args: argparse.Namespace) -> setup.Options:
    place = sources.PythonSource(args.python_source, args.sha256 or "") if args.python_source else None
    if args.sha256 and not place:
        raise Failure("--sha256 belongs to --python-source; give both.")
    return setup.Options(place, Path(args.dlpack_include) if args.dlpack_include else None)


def _setup(args: argparse.Namespace, cache: Cache) -> int:
    facts = setup.summary(cache, setup.ensure(cache, _options(args)))
    lines = [f"Set-up is complete in {facts['cache']}.", f"  compiler  {facts['compiler']}", f"  DLPack    {facts['dlpack_include']}"]
    emit(args, facts, "\n".join(lines + [f"  CPython   {name}: {path}" for name, path in facts["python"].items()]))  # type: ignore[attr-defined]
    return CLEAN


def _doctor(args: argparse.Namespace, cache: Cache) -> int:
    checks = doctor.examine(cache)
    emit(args, {"checks": [dataclasses.asdict(check) for check in checks]}, doctor.text(checks))
    return CLEAN if all(check.ok for check in checks) else FAILED


def _build(args: argparse.Namespace, cache: Cache) -> int:
    presets = [choose("preset", args.preset, list(builds.PRESETS))] if args.preset else [args.sanitizer] if args.sanitizer else list(setup.Options().sanitizers)
    setup.ensure(cache)
    progress = Progress(len(presets), cache.logs)
    built = [builds.build(cache, preset, args.target or [], progress) for preset in presets]
    emit(args, {"builds": [{"preset": one.preset, "folder": str(one.folder)} for one in built]}, "\n".join(f"built {one.folder}" for one in built))
    return CLEAN


def parser() -> Parser:
    top = Parser(prog="handoff", description="Finds races in the hand-over of tensors, and replays them.", allow_abbrev=False)
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)

    def verb(name: str, function: Any, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(function=function)
        added.add_argument("--cache", metavar="FOLDER", help="cache folder (default: $HANDOFF_CACHE or ~/.cache/handoff)")
        added.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else there")
        return added

    def sanitizer(added: argparse.ArgumentParser) -> None:
        added.add_argument("--sanitizer", metavar="S", choices=interpreter.SANITIZERS, help="thread or address")

    added = verb("setup", _setup, "Install what is missing and build a free-threaded CPython per sanitizer.")
    added.add_argument("--python-source", metavar="PATH|URL", help="CPython source tarball, 3.13 or newer (a URL needs --sha256)")
    added.add_argument("--sha256", metavar="HASH", help="expected hash of --python-source")
    added.add_argument("--dlpack-include", metavar="PATH", help="folder that holds dlpack/dlpack.h")
    verb("doctor", _doctor, "Say what is there and what is missing, and prove the detectors alive.")
    added = verb("build", _build, "Configure and compile; without options both sanitizers.")
    sanitizer(added)
    added.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(builds.PRESETS)}")
    added.add_argument("--target", metavar="X", action="append", help="only this CMake target (may be repeated)")
    return top


def main(words: list[str]) -> int:
    args = parser().parse_args(words)
    machine.raise_address_space_limit()
    try:
        return int(args.function(args, Cache.find(args.cache)))
    except Failure as failure:
        print(f"handoff {args.verb}: {failure}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"handoff {args.verb}: interrupted.", file=sys.stderr)
        return INTERRUPTED
