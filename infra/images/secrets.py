"""Secrets in a container: files that Compose mounts, which go into no image and no `inspect`."""

import os
from pathlib import Path

from infra.private import write_private

FOLDER = Path("/run/secrets")
"""Where an engine puts the secrets of a container, a file each."""

_TABLES = "postgres_slackwater"  # the password of the role that owns the data base of tables


def secret(name: str) -> str | None:
    """Gives a secret; None where this container was not given it."""
    try:
        return (FOLDER / name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def needed(name: str) -> str:
    """Gives a secret that the container cannot do without; ends the program where it is missing."""
    found = secret(name)
    if not found:
        text = f"the secret {name} is missing: run infra/images/build, which writes .secrets/{name}"
        raise SystemExit(text)
    return found


def offer_tables() -> None:
    """Writes PGPASSFILE, by which libpq finds the password of the tables' data base.

    By a file, where the container has the secret: an environment is passed on to, and shown by,
    whatever runs below. libpq takes no file that others may read, as what is mounted is.
    """
    password, file = secret(_TABLES), os.environ.get("PGPASSFILE")
    if password is not None and file:
        spelled = password.replace("\\", "\\\\").replace(":", "\\:")
        write_private(Path(file), f"*:*:*:*:{spelled}\n")
