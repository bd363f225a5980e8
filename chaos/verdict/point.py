"""The point at which a verification ended, and from which the next one continues.

It has what the log up to there says about later rows: how far each lane was read and what its
records promise, the accounting, and the records that may still be in rows to come. It also has a
digest of the lines that were right, by which the next verification notices if they change.

A point is a file: a line of JSON for all but the records, then a line for each of those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from chaos.readers.output import Line
from chaos.verdict.spool import tuples
from windowing.model.file.pipeline import Pipeline
from windowing.model.rows import Scalar
from windowing.semantics import LogEntry
from windowing.semantics.lanes import Progress

Packed = tuple[int, int, int, Progress, tuple[Scalar, ...]]
"""A record: lane, offset, value, progress before it, fields."""

FORMAT: Final = 4


class PointError(ValueError):
    """A point that a verification cannot continue from."""

    exit_code = 2


@dataclass(frozen=True)
class Digest:
    """The digest of some lines in any order.

    Attributes:
        total: the sum of their hashes, modulo 2^128.
    """

    lines: int = 0
    total: int = 0

    def plus(self, line: Line) -> Digest:
        """Return the digest of these lines and another one."""
        found = blake2b(line[1].encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return Digest(self.lines + 1, (self.total + int.from_bytes(found, "big")) % (1 << 128))


@dataclass(frozen=True)
class LastEntry:
    """The last entry of a lane.

    Attributes:
        content: the hash of value, control and append time.
    """

    offset: int
    content: str

    @classmethod
    def of(cls, entry: LogEntry) -> LastEntry:
        """Describe an entry."""
        parts = (entry.value, entry.control, str(entry.append_us).encode())
        spelled = json.dumps([None if part is None else part.hex() for part in parts])
        return cls(entry.offset, blake2b(spelled.encode(), digest_size=16).hexdigest())

    def missing(self, lane: str) -> str:
        """Return the message about a log that lacks this entry."""
        return (
            f"{lane} no longer has the record at offset {self.offset} after which the range "
            "begins: the log was compacted, cut off or written anew, and is not the one that was "
            "verified: verify without --since"
        )


@dataclass(frozen=True)
class Point:
    """A point.

    Attributes:
        lasts: the last entry of each lane, by number; None: it has none.
        streams: what the log has left of each stream, by attribute (null: the event time).
        read, arrived: numbers of data records, as in `DividedLog`.
        tallies: by query, numbers of records by the names of their fates.
        rows, dead: the digests of the lines so far; None: nobody has compared them.
        records: the file with the records that may be in later rows, by query; None: there is none.
    """

    fingerprint: str
    lasts: Sequence[LastEntry | None]
    streams: Sequence[tuple[str | None, list[Any]]]
    read: int
    arrived: int
    tallies: Mapping[str, Mapping[str, int]]
    rows: Digest | None
    dead: Digest | None
    records: Path | None = None

    def write(self, file: Path, records: Iterable[tuple[str, Packed]]) -> Point:
        """Write the point with its records, completely or not at all; return it as of the file."""
        written = file.with_name(f".{file.name}.new")
        head = {"format": FORMAT, **asdict(self)}
        del head["records"]
        with written.open("w", encoding="ascii") as out:
            out.write(json.dumps(head) + "\n")
            out.writelines(json.dumps(record) + "\n" for record in records)
        written.replace(file)
        return read_point(file)

    def kept(self) -> Iterator[tuple[str, Packed]]:
        """Yield the records, each with the name of its query."""
        if self.records is None:
            return
        with self.records.open(encoding="ascii") as lines:
            next(lines)
            for line in lines:
                yield tuples(json.loads(line))

    def lasts_by_lane(self) -> dict[int, LastEntry]:
        """Return the last entry of each lane that has one."""
        return {number: last for number, last in enumerate(self.lasts) if last is not None}

    def is_before(self, number: int, offset: int) -> bool:
        """Return whether a place in the log lies before the point."""
        last = self.lasts[number]
        return last is not None and offset <= last.offset

    def check(self, pipeline: Pipeline) -> None:
        """Check that the point is one of this pipeline.

        Raises:
            PointError: it is another pipeline's.
        """
        if self.fingerprint != pipeline.fingerprint:
            msg = (
                f"pipeline {pipeline.name} has changed since its last verification (fingerprint "
                f"{self.fingerprint[:12]} then, {pipeline.fingerprint[:12]} now): verify without "
                "--since, which begins anew"
            )
            raise PointError(msg)


def read_point(file: Path) -> Point:
    """Read a point.

    Raises:
        PointError: there is no such file, or it is not one of this version.
    """
    try:
        with file.open(encoding="ascii") as lines:
            head = json.loads(next(lines))
        form = head.pop("format")
        if form == FORMAT:
            lasts = [None if one is None else LastEntry(**one) for one in head.pop("lasts")]
            digests = [_digest(head.pop(name)) for name in ("rows", "dead")]
            streams = [(attribute, state) for attribute, state in head.pop("streams")]
            return Point(
                **head, lasts=lasts, streams=streams, rows=digests[0], dead=digests[1], records=file
            )
    except FileNotFoundError:
        msg = (
            "no verification of this run has passed yet, so there is none to go on from: verify "
            "without --since first"
        )
        raise PointError(msg) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, StopIteration) as error:
        msg = f"{file}: the point of the last verification is damaged ({error}): verify without "
        raise PointError(msg + "--since, which writes it anew") from None
    msg = f"{file}: format {form!r} is not {FORMAT}, of this version: verify without --since"
    raise PointError(msg)


def _digest(values: dict[str, int] | None) -> Digest | None:
    return None if values is None else Digest(**values)
