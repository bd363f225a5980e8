"""The lock of the jars: which ones Maven may fetch, byte for byte.

Maven checks downloads against checksums from the same place, so it would trust a malicious mirror;
and it resolves transitive dependencies. So `infra/jvm/jars.sha256` lists every jar's name and
SHA-256 in the format of `sha256sum`, and the set-up compares before anything runs.
Standard library only: the set-up runs before anything is installed.
"""

import hashlib
from pathlib import Path

from infra.layout import ROOT

LOCK = ROOT / "infra" / "jvm" / "jars.sha256"
HADOOP_LOCK = ROOT / "infra" / "jvm" / "hadoop.sha256"
"""The lock of what `make setup-yarn` alone installs."""


def complaint(folder: Path, lock: Path = LOCK) -> str:
    """Say how the jars of a folder differ from the lock; empty if they do not.

    Args:
        folder: has a folder of jars for each module of the POM.
        lock: what they must be.
    """
    wanted = _read(lock)
    found = _hashes(folder)
    unknown, missing = sorted(found.keys() - wanted), sorted(wanted.keys() - found)
    other = sorted(name for name in found.keys() & wanted if found[name] != wanted[name])
    if other:
        return (
            f"{other[0]} is not the jar that is locked (SHA-256 {found[other[0]]} instead of "
            f"{wanted[other[0]]})"
        )
    if unknown or missing:
        what = f"{unknown[0]} is not locked" if unknown else f"{missing[0]} is locked and missing"
        return f"{what}, of {len(unknown) + len(missing)} jars that differ"
    return ""


def write(folder: Path, lock: Path = LOCK) -> None:
    """Write the lock for the jars of a folder."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(_hashes(folder).items())]
    lock.write_text("".join(lines), encoding="utf-8")


def _hashes(folder: Path) -> dict[str, str]:
    return {
        str(jar.relative_to(folder)): hashlib.sha256(jar.read_bytes()).hexdigest()
        for jar in folder.glob("*/*")
    }


def _read(lock: Path) -> dict[str, str]:
    lines = lock.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
