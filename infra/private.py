"""Files that only their owner can read, and a folder that only its owner can write.

A run's folder holds what only its job may know, and only while it may be started again: the login
to a Kafka cluster, and the variables that a driver is given. They are in private files, since
everybody can read a command line.
"""

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from infra.errors import InfraError

BYTES_MAX = 1 << 20
"""The size limit; chains of certificates are the longest."""


class NotSmall(ValueError):
    """A file is larger than settings or a secret can be."""


def read_small(path: Path) -> str:
    """Read the text of a small file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not UTF-8 text, or `NotSmall`.
    """
    with path.open("rb") as file:
        found = file.read(BYTES_MAX + 1)
    if len(found) > BYTES_MAX:
        text = f"{path} has more than {BYTES_MAX >> 20} MiB"
        raise NotSmall(text)
    return found.decode("utf-8")


def write_private(path: Path, text: str) -> str:
    """Write a file that only its owner can read, completely or not at all; return its path."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    part.replace(path)
    return str(path.absolute())


def own_folder() -> Path:
    """Return the folder for what all processes of this user agree on, such as locks.

    It lies where anybody may write, under a name that anybody can guess: somebody else may have
    made it, or a link, to have us create or lock files elsewhere.

    Raises:
        InfraError: it is not ours, or others may write there.
    """
    folder = Path(tempfile.gettempdir()) / f"slackwater-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        text = (
            f"{folder} is not a folder that is yours alone, so nothing is put there: remove it, or "
            "let TMPDIR name a folder of your own"
        )
        raise InfraError(text)
    return folder


def open_lock(name: str) -> int:
    """Open a file of `own_folder` to be locked; return its descriptor.

    Raises:
        InfraError: the folder is not ours, or something else has the name.
    """
    path = own_folder() / name
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        text = f"{path} cannot be used as a lock ({error.strerror}): remove it"
        raise InfraError(text) from error


SECRETS_FOLDER = "kafka"
"""Folder in a run's folder with its job's login to a Kafka cluster; private."""

ENVIRONMENT_FILE = "environment.json"
"""File in a run's folder with variables for its drivers; private."""


def forget(run: Path) -> None:
    """Delete the secrets in a run's folder."""
    shutil.rmtree(run / SECRETS_FOLDER, ignore_errors=True)
    (run / ENVIRONMENT_FILE).unlink(missing_ok=True)


def forget_all(state_dir: Path) -> None:
    """Delete the secrets of all runs: none is started again, as their cluster is gone."""
    for run in (state_dir / "runs").glob("*/*/"):
        forget(run)
