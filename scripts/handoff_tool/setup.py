"""`setup`: brings a bare machine to where everything builds; does nothing the second time."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import archive, interpreter, packages, places, sources, toolchain
from handoff_tool.outcome import Failure
from handoff_tool.places import Cache
from handoff_tool.progress import Progress


@dataclass(frozen=True)
class Options:
    python: sources.PythonSource | None = None
    dlpack_include: Path | None = None
    sanitizers: Sequence[str] = interpreter.SANITIZERS


@dataclass(frozen=True)
class Parts:
    """What a build needs from a finished set-up."""

    chain: toolchain.Toolchain
    dlpack: Path
    manifests: dict[str, Path]


def parts(cache: Cache, sanitizers: Sequence[str] = interpreter.SANITIZERS) -> Parts | None:
    """The finished set-up, or None when anything is missing."""
    chain, tarball, header = toolchain.find(), sources.tarball(cache), sources.dlpack(cache)
    if chain is None or tarball is None or header is None or packages.missing():
        return None
    manifests = {name: interpreter.manifest(interpreter.folder(cache, tarball, name, chain.version)) for name in sanitizers}
    return Parts(chain, header, manifests) if all(path.exists() for path in manifests.values()) else None


def ensure(cache: Cache, options: Options = Options()) -> Parts:
    """Does whatever is missing, with progress and without questions."""
    found = None if options.python or options.dlpack_include else parts(cache, options.sanitizers)
    if found:
        return found
    with places.exclusive(cache.folder / "lock", f"Another set-up is using {cache.folder}; waiting for it."):
        for leftover in (*cache.folder.glob("building-*"), *cache.folder.glob("apt-*")):  # of a set-up that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        _sources_from_options(cache, options)
        _work(cache, options)
    done = parts(cache, options.sanitizers)
    if done is None:
        raise Failure("Set-up ended but something is still missing; 'scripts/handoff doctor' says what.")
    return done


def _sources_from_options(cache: Cache, options: Options) -> None:
    if options.dlpack_include:
        sources.use_dlpack(cache, options.dlpack_include)
    if options.python:
        sources.from_place(cache, options.python)


def _work(cache: Cache, options: Options) -> None:
    need_packages = bool(packages.missing())
    need_source, need_header = sources.tarball(cache) is None, sources.dlpack(cache) is None
    wanted = list(options.sanitizers)
    if not need_packages and not need_source:
        chain, tarball = toolchain.require(), sources.tarball(cache)
        assert tarball is not None
        wanted = [
            name for name in wanted if not interpreter.manifest(interpreter.folder(cache, tarball, name, chain.version)).exists()
        ]
    refresh = packages.debian() and (need_packages or ((need_source or need_header) and archive.mirror() is None))

    steps: list[tuple[str, float, Callable[[Progress], None]]] = []
    if refresh:
        steps.append(("refresh the package lists", 15, packages.update))
    if need_packages:
        steps.append(("install packages", 90, packages.install))
    if need_source or need_header:
        names = " and ".join(["the CPython source"] * need_source + ["the DLPack header"] * need_header)
        steps.append((f"fetch {names}", 30, lambda progress: _fetch(cache, progress, need_source, need_header)))
    progress = Progress(len(steps) + 3 * len(wanted), cache.logs)
    for name, estimate, action in steps:
        with progress.step(name, estimate):
            action(progress)
    for sanitizer in wanted:
        source = sources.tarball(cache)
        assert source is not None
        interpreter.build(cache, source, sanitizer, toolchain.require(), progress)


def _fetch(cache: Cache, progress: Progress, python: bool, header: bool) -> None:
    if archive.mirror():
        sources.from_debian(cache, progress, python=python, header=header)
        return
    if header:
        raise Failure(
            "No Debian mirror to take the DLPack header from; give --dlpack-include PATH (it holds dlpack/dlpack.h, 1.3 best)."
        )
    sources.from_place(cache, sources.PythonSource(sources.PYTHON_URL, sources.PYTHON_SHA256))


def summary(cache: Cache, done: Parts) -> dict[str, object]:
    return {
        "cache": str(cache.folder),
        "compiler": done.chain.version,
        "dlpack_include": str(done.dlpack),
        "python": {name: str(path) for name, path in done.manifests.items()},
    }
