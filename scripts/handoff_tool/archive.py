"""Fetches single packages from other Debian suites through a private apt state.

The system's own sources stay untouched: apt gets its own lists, cache and source file inside our cache folder, the mirror that
the system itself uses, and the system's Debian keyring to verify every byte. Debian 12 has DLPack 0.6 and Python 3.11.
"""

import shutil
import subprocess
from pathlib import Path

from handoff_tool.outcome import Failure
from handoff_tool.progress import Progress

KEYRINGS = ("debian-archive-keyring.pgp", "debian-archive-keyring.gpg")
FIELDS = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"


def mirror() -> str | None:
    """The address of the Debian mirror in the system's own sources; None on other systems or before `apt-get update`."""
    if not shutil.which("apt-get"):
        return None
    answer = subprocess.run(
        ["apt-get", "indextargets", "--format", FIELDS, "Created-By: Packages"], capture_output=True, text=True
    ).stdout
    for line in answer.splitlines():
        origin, label, address = line.split("|", 2)
        if origin == label == "Debian":
            return address
    return None


def keyring() -> Path:
    for name in KEYRINGS:
        path = Path("/usr/share/keyrings") / name
        if path.exists():
            return path
    raise Failure("The system's Debian archive keyring is missing; install the package debian-archive-keyring.")


class PrivateApt:
    """One short-lived apt state in `folder`; the caller removes the folder."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        for part in ("lists/partial", "cache/archives/partial", "files"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        address = mirror()
        if address is None:
            raise Failure("apt knows no Debian mirror on this system; give --python-source and --dlpack-include instead.")
        signed = f"[signed-by={keyring()}]"
        (folder / "sources.list").write_text(f"deb {signed} {address} unstable main\ndeb-src {signed} {address} stable main\n")
        (folder / "apt.conf").write_text(
            f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\nDir::Etc::sourcelist "{folder}/sources.list";\n'
            'Dir::Etc::sourceparts "/dev/null";\nDir::Etc::preferences "/dev/null";\nDir::Etc::preferencesparts "/dev/null";\n'
            'Acquire::Languages "none";\nAPT::Sandbox::User "root";\nAPT::Update::Error-Mode "any";\n'
        )

    def _run(self, name: str, *words: str) -> None:
        # APT_CONFIG is read before the system's files, options win over both: hence -c.
        self._progress.run(
            name, ["apt-get", "-c", self._folder / "apt.conf", *words], log="archive.log", cwd=self._folder / "files"
        )

    def update(self) -> None:
        try:
            self._run("apt-get update", "update")
        except Failure as failure:
            raise Failure(f"The Debian mirror cannot be used (is the network up?): {failure}") from failure

    def binary(self, package: str) -> Path:
        """Downloads a package without installing it, and unpacks it; returns the folder."""
        self._run(f"apt-get download {package}", "download", package)
        target = self._folder / package
        for deb in (self._folder / "files").glob(f"{package}_*.deb"):
            self._progress.run(f"unpacking {package}", ["dpkg", "-x", deb, target], log="archive.log")
        return target

    def source(self, package: str) -> Path:
        """Downloads a source package and returns its pristine .orig tarball; apt has checked it against the signed index."""
        self._run(f"apt-get source {package}", "source", "--download-only", "--only-source", package)
        found = sorted((self._folder / "files").glob(f"{package}_*.orig.tar.*"))
        tarballs = [path for path in found if path.suffix != ".asc"]
        if not tarballs:
            raise Failure(f"Debian's source package {package} came without an .orig tarball; give --python-source.")
        return tarballs[-1]
