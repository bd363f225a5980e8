"""What became of the records of a run, by the lanes' own counts."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, fields

from windowing.engine.frames import from_bytes
from windowing.model.rows import DeadLetter
from windowing.model.run_errors import WindowingError


class RecordsUnaccounted(WindowingError):
    """A run that does not know what became of each of its records: a defect of the engine."""


@dataclass(frozen=True)
class Counts:
    """What became of the records of one query.

    Attributes:
        read: data records; bad values among them, control records not.
        applied: taken by a window.
        outside: in no window.
        dropped: late, and dropped without a trace, as the pipeline says.
        dead: dead letters, bad values among them.
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
    """Add what a lane has counted in a batch, by query.

    Args:
        counts: what was counted before; queries that are new to it are added.
        metrics: an Arrow stream as `windowing.engine.parcel.Parcel` has it.
    """
    names = [field.name for field in fields(Counts)]
    for query, *found in from_bytes(metrics).select("query", *names).iter_rows():
        before = counts.get(query, Counts())
        counts[query] = Counts(
            *(getattr(before, name) + more for name, more in zip(names, found, strict=True))
        )


def check_counts(query: str, counts: Counts, dead_letters: Iterable[DeadLetter]) -> None:
    """See that every record of a query is accounted for.

    Args:
        query: its name.
        counts: what the lanes have counted.
        dead_letters: all that were written.

    Raises:
        RecordsUnaccounted: the sum is not what was read, or other dead letters were written than
            counted.
    """
    written = sum(letter.query in (None, query) for letter in dead_letters)
    total = counts.applied + counts.outside + counts.dropped + counts.dead
    if total != counts.read or written != counts.dead:
        msg = (
            f"{query}: {counts}, and {written} dead letters were written: records were lost or "
            "taken twice by a defect of the engine; report it with the pipeline and its log"
        )
        raise RecordsUnaccounted(msg)
