"""Do the lines of a log file say one thing? Offsets of a lane rise, and a line may come again.

A line whose offset is not above its lane's last is either a redelivery (the same record again: no
effect) or a contradiction. To tell them apart, every record leaves its offset and 64 bits of its
content behind, 16 bytes in all: 160 MB for a log of ten million lines, whatever they hold.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Protocol


class LocatedRecord(Protocol):
    """A record with its place in the log."""

    @property
    def source(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """Its number."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def value(self) -> bytes | None:
        """The bytes of the value."""

    @property
    def control(self) -> bytes | None:
        """The bytes of a control record."""

    @property
    def append_us(self) -> int | None:
        """The broker's append time."""


class LaneOrder:
    """Remembers which records of each lane have been seen."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, int], tuple[array[int], array[int]]] = {}

    def is_new(self, record: LocatedRecord) -> bool:
        """Whether a record goes on with its lane; False: it has been seen, as it is.

        Two lines are the same record if value, control and append time have the same bytes,
        however the lines around them are spelled.

        Raises:
            ValueError: the record contradicts what has been seen; the text says how.
        """
        lane = record.source, record.partition
        offsets, contents = self._lanes.setdefault(lane, (array("q"), array("q")))
        if not offsets or record.offset > offsets[-1]:
            offsets.append(record.offset)
            contents.append(_content(record))
            return True
        place = bisect_left(offsets, record.offset)
        name = f"{record.source}/{record.partition}"
        if offsets[place] != record.offset:
            msg = (
                f"offset {record.offset} of {name} comes after {offsets[-1]}, and was not seen "
                "before: bring the lines of each lane into the order of their offsets"
            )
            raise ValueError(msg)
        if contents[place] != _content(record):
            msg = (
                f"offset {record.offset} of {name} was seen before with another value, control or "
                "append_us: a record that is delivered again is the same, to the byte; take one "
                "of the two lines out"
            )
            raise ValueError(msg)
        return False


def _content(record: LocatedRecord) -> int:
    """64 bits of what a record holds, by a hash that is drawn anew for each process."""
    return hash((record.value, record.control, str(record.append_us)))
