"""CPython's source tarball and the DLPack header: found, fetched, checked by hash, kept in the cache."""

import hashlib
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from handoff_tool import archive
from handoff_tool.outcome import Failure
from handoff_tool.places import Cache
from handoff_tool.progress import Progress

# Debian does not repack CPython: its .orig.tar.xz is upstream's own release file (upstream's detached signature lies beside it in
# the source package), so one hash serves for both.
PYTHON_URL = "https://www.python.org/ftp/python/3.13.5/Python-3.13.5.tar.xz"
PYTHON_SHA256 = "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640"
PYTHON_PACKAGE = "python3.13"
DLPACK_PACKAGE = "libdlpack-dev"
DLPACK_OLDEST = (1, 0)


@dataclass(frozen=True)
class PythonSource:
    """A tarball as asked for on the command line; `sha256` empty means: of the file as it is (local files only)."""

    place: str
    sha256: str


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(path: Path, expected: str, origin: str) -> None:
    found = sha256(path)
    if found != expected.lower():
        raise Failure(
            f"{origin} has the wrong hash: expected sha256 {expected.lower()}, found {found}; nothing was built from it."
        )


def tarball(cache: Cache) -> Path | None:
    """The checked tarball of an earlier set-up; its name carries its hash."""
    name = cache.settings().get("python_tarball")
    path = cache.sources / name if isinstance(name, str) else None
    return path if path and path.exists() else None


def _keep(cache: Cache, source: Path) -> Path:
    digest = sha256(source)
    cache.sources.mkdir(parents=True, exist_ok=True)
    kept = cache.sources / f"cpython-{digest}.tar"
    temporary = cache.sources / f".incoming-{os.getpid()}"
    shutil.copyfile(source, temporary)
    temporary.replace(kept)
    cache.remember(python_tarball=kept.name)
    return kept


def _download(url: str, target: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, target.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Failure(f"Cannot download {url} ({reason}); check the network, or give --python-source PATH.") from error


def from_place(cache: Cache, source: PythonSource) -> Path:
    """A local tarball, or a URL with its hash."""
    if re.match(r"[a-z]+://", source.place):
        if not source.sha256:
            raise Failure("A --python-source URL needs --sha256, so that what arrives can be checked.")
        with tempfile.TemporaryDirectory(dir=_made(cache.folder)) as folder:
            path = Path(folder) / "download"
            _download(source.place, path)
            check(path, source.sha256, source.place)
            return _keep(cache, path)
    path = Path(source.place).expanduser()
    if not path.is_file():
        raise Failure(f"--python-source {source.place}: expected a CPython source tarball or a URL, found no such file.")
    if source.sha256:
        check(path, source.sha256, str(path))
    return _keep(cache, path)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def header_version(include: Path) -> tuple[int, int] | None:
    """(major, minor) of the dlpack/dlpack.h under an include folder."""
    try:
        text = (include / "dlpack" / "dlpack.h").read_text(errors="replace")
    except OSError:
        return None
    numbers = [re.search(rf"#define DLPACK_{part}_VERSION (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(numbers[0][1]), int(numbers[1][1])) if numbers[0] and numbers[1] else None


def dlpack(cache: Cache) -> Path | None:
    """The include folder in use, when it still holds a header."""
    chosen = cache.settings().get("dlpack_include")
    return Path(chosen) if isinstance(chosen, str) and header_version(Path(chosen)) else None


def use_dlpack(cache: Cache, include: Path) -> None:
    version = header_version(include)
    if version is None or version < DLPACK_OLDEST:
        found = f"version {version[0]}.{version[1]}" if version else "no dlpack/dlpack.h with a version"
        raise Failure(
            f"{include}: expected the DLPack header 1.0 or newer (1.3 is best), found {found}; give another --dlpack-include."
        )
    cache.remember(dlpack_include=str(include.resolve()))


def from_debian(cache: Cache, progress: Progress, *, python: bool, header: bool) -> None:
    """Fetches what is asked for through one private apt state."""
    with tempfile.TemporaryDirectory(dir=_made(cache.folder), prefix="apt-") as folder:
        apt = archive.PrivateApt(Path(folder), progress)
        apt.update()
        if header:
            unpacked = apt.binary(DLPACK_PACKAGE) / "usr" / "include"
            version = header_version(unpacked)
            kept = cache.sources / "dlpack-{}.{}".format(*(version or (0, 0)))
            shutil.copytree(unpacked, kept, dirs_exist_ok=True)
            use_dlpack(cache, kept)
        if python:
            _keep(cache, apt.source(PYTHON_PACKAGE))
