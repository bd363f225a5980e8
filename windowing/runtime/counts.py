"""The fate of a run's records, by the lanes' own counts."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, fields

from windowing.engine.storage.frames import from_bytes
from windowing.model.rows import DeadLetter
from windowing.model.run_errors import WindowingError


class RecordsUnaccounted(WindowingError):
    """A run that cannot account for all of its records: a defect of the engine."""


@dataclass(frozen=True)
class Counts:
    """The fate of one query's records.

    Attributes:
        read: data records, including bad values, excluding control records.
        applied: taken by a window.
        outside: in no window.
        dropped: late, and dropped under the policy `drop`.
        dead: dead letters, including bad values.
    """

    read: int = 0
    applied: int = 0
    outside: int = 0
    dropped: int = 0
    dead: int = 0

    def __str__(self) -> str:
        return (
            f"read {self.read} = applied {self.applied} + outside {self.outside} "
            f"+ dropped {self.dropped} + dead {self.dead}"
        )


def count(counts: MutableMapping[str, Counts], metrics: bytes) -> None:
    """Add a lane's counts of a batch, by query.

    Args:
        counts: the counts so far; new queries are added.
        metrics: a frame as bytes, as in `windowing.engine.storage.parcel.Parcel`.
    """
    names = [field.name for field in fields(Counts)]
    for query, *found in from_bytes(metrics).select("query", *names).iter_rows():
        before = counts.get(query, Counts())
        counts[query] = Counts(
            *(getattr(before, name) + more for name, more in zip(names, found, strict=True))
        )


def check_counts(query: str, counts: Counts, dead_letters: Iterable[DeadLetter]) -> None:
    """Check that every record of a query is accounted for.

    Args:
        query: its name.
        counts: the lanes' counts.
        dead_letters: the number written.

    Raises:
        RecordsUnaccounted: the counts do not add up to those read, or the dead letters written
            differ from those counted.
    """
    written = sum(letter.query in (None, query) for letter in dead_letters)
    total = counts.applied + counts.outside + counts.dropped + counts.dead
    if total != counts.read or written != counts.dead:
        msg = (
            f"{query}: {counts}, and {written} dead letters were written: records were lost or "
            "taken twice by a defect of the engine; report it with the pipeline and its log"
        )
        raise RecordsUnaccounted(msg)
