"""Small files with settings or secrets; of larger files, only a little is read."""

from pathlib import Path

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
