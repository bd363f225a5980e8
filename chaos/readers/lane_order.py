"""Check that the lines of a log file are consistent: offsets increase, up to redeliveries.

A line whose offset does not exceed its lane's last is either a redelivery of the same record, which
has no effect, or a contradiction. To tell them apart, the offset and a 64-bit hash of each record
are remembered: 16 bytes each, or 160 MB for ten million lines of any length.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Protocol

from windowing.model.metadata import metadata_of


class LocatedRecord(Protocol):
    """A record with its position in the log."""

    @property
    def source(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The number of the partition."""

    @property
    def offset(self) -> int:
        """The offset in the partition."""

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
    """Remembers which records of each lane have been seen.

    Attributes:
        redelivered: how many were redeliveries.
    """

    def __init__(self) -> None:
        self.redelivered = 0
        self._lanes: dict[tuple[str, int], tuple[array[int], array[int]]] = {}

    def is_new(self, record: LocatedRecord) -> bool:
        """Whether a record continues its lane; False: it is a redelivery.

        Two lines are the same record if value, control, append time and metadata are the same,
        however the rest of the lines is written.

        Raises:
            ValueError: the record contradicts an earlier one; the text says how.
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
                f"offset {record.offset} of {name} was seen before with another value, control, "
                "append_us or metadata: a record that is delivered again is the same, to the byte; "
                "take one of the two lines out"
            )
            raise ValueError(msg)
        self.redelivered += 1
        return False


def _content(record: LocatedRecord) -> int:
    """Hash the content of a record to 64 bits, differently in each process."""
    return hash((record.value, record.control, str(record.append_us), metadata_of(record)))
