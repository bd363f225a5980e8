"""Secrets in a container: files that Compose mounts, visible in no image and no `inspect`."""

import os
from pathlib import Path

from infra.private import write_private

FOLDER = Path("/run/secrets")
"""The folder with a container's secrets, a file each."""

_TABLES = "postgres_slackwater"  # the password of the role that owns the database of tables


def secret(name: str) -> str | None:
    """Return a secret; None if this container does not have it."""
    try:
        return (FOLDER / name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def needed(name: str) -> str:
    """Return a required secret; end the program if it is missing."""
    found = secret(name)
    if not found:
        text = f"the secret {name} is missing: run infra/images/build, which writes .secrets/{name}"
        raise SystemExit(text)
    return found


def offer_tables() -> None:
    """Write PGPASSFILE, in which libpq finds the password of the tables' database.

    It does so if the container has the secret. An environment would be inherited and shown by child
    processes, and libpq refuses files that others may read, such as the mounted one.
    """
    password, file = secret(_TABLES), os.environ.get("PGPASSFILE")
    if password is not None and file:
        spelled = password.replace("\\", "\\\\").replace(":", "\\:")
        write_private(Path(file), f"*:*:*:*:{spelled}\n")
