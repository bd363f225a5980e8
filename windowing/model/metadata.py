"""What a record has besides its value: `$timestamp`, `$key`, `$headers.NAME`, its place in the log.

Names with a `$` stand for it in expressions, `group_by` and aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from windowing.model.errors import meant
from windowing.model.paths import parse_path
from windowing.model.types import FieldType

TIMESTAMP: Final = "$timestamp"
APPEND: Final = "$append"
KEY: Final = "$key"
TOPIC: Final = "$topic"
PARTITION: Final = "$partition"
OFFSET: Final = "$offset"
_HEADERS: Final = "$headers"

_TEXT: Final = FieldType("string", nullable=True)
_INSTANT: Final = FieldType("timestamp", nullable=True)
_PLAIN: Final = {
    TIMESTAMP: _INSTANT,
    APPEND: _INSTANT,
    KEY: _TEXT,
    TOPIC: FieldType("string"),
    PARTITION: FieldType("int"),
    OFFSET: FieldType("int"),
}

CARRIED: Final = (TIMESTAMP, KEY)
"""What raw rows carry of a record besides headers; the rest is known wherever its lane is."""


def is_metadata(name: str) -> bool:
    """Return whether a name is of metadata, known or not."""
    return name.startswith("$")


def is_known_metadata(name: str) -> bool:
    """Return whether a name is of metadata that there is."""
    return name in _PLAIN or header_of(name) is not None


def metadata_type(name: str) -> FieldType:
    """Return the type of a name of metadata.

    Raises:
        ValueError: there is none of this name.
    """
    if name in _PLAIN:
        return _PLAIN[name]
    if header_of(name) is not None:
        return _TEXT
    known = (*_PLAIN, f"{_HEADERS}.NAME")
    msg = f"{name!r} is no metadata of a record{meant(name, known) or ':'} use {', '.join(known)}"
    raise ValueError(msg)


def header_of(name: str) -> str | None:
    """Return the header that `$headers.NAME` names; None: the name is of something else."""
    if not name.startswith(_HEADERS + "."):
        return None
    try:
        path = parse_path(name)
    except ValueError:
        return None
    header = path[1] if len(path) == 2 else None
    return header if isinstance(header, str) else None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a log's entry has besides value and place.

    Attributes:
        key: its bytes; None: it has none.
        timestamp_us: the record's own time; None: unknown.
        headers: names and values in their order; of a repeated name, the last one counts.
    """

    key: bytes | None = None
    timestamp_us: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def carried(self, name: str) -> bytes | int | None:
        """Return what the entry has under a name: `CARRIED`, or one of a header."""
        if name == TIMESTAMP:
            return self.timestamp_us
        if name == KEY:
            return self.key
        return dict(self.headers).get(header_of(name) or "")


NO_METADATA: Final = Metadata()


def metadata_of(entry: object) -> Metadata:
    """Return the metadata of a log's entry; one without the attribute has none."""
    found: Metadata = getattr(entry, "metadata", NO_METADATA)
    return found


def carried_of(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return what raw rows carry, if these names are used of several sources, each once."""
    return tuple(dict.fromkeys(name for names in parts for name in carried(names)))


def carried(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of some names that raw rows have to carry."""
    return tuple(name for name in names if name in CARRIED or header_of(name) is not None)
