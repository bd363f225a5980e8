"""Settings and secrets in files of their own, which are small; of others little is read."""

from pathlib import Path

BYTES_MAX = 1 << 20
"""Of such a file; certificates in a row are the longest."""


class NotSmall(ValueError):
    """A file that is larger than settings or a secret can be."""


def read_small(path: Path) -> str:
    """The text of a small file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no text in UTF-8, or `NotSmall`.
    """
    with path.open("rb") as file:
        found = file.read(BYTES_MAX + 1)
    if len(found) > BYTES_MAX:
        text = f"{path} has more than {BYTES_MAX >> 20} MiB"
        raise NotSmall(text)
    return found.decode("utf-8")
