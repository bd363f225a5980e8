"""The runtime's output: tagged frames for sinks, and the rows and dead letters in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from windowing.engine.changes import QueriesChanged
from windowing.engine.columns import (
    ABSORBED_BY,
    FIRST_OFFSET,
    KEY,
    LAST_OFFSET,
    OFFSET,
    OFFSETS,
    OVERFLOW,
    PARTITION,
    RECORDS,
    RETRACTS,
    REVISION,
    TOMBSTONE,
    VALUES,
    WINDOW_ID,
)
from windowing.engine.plan import extents
from windowing.engine.reading.refusals import Detail
from windowing.engine.shard import Emission
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.parcel import TakenChange
from windowing.files.whole_files import whole_files
from windowing.model import Pipeline
from windowing.model.fates import DEAD, READ, Counts, Fates, names
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Row, dead_letter_lines, row_lines
from windowing.model.run_errors import WindowingError
from windowing.model.standing import LaneEnd, Waiting

# Kinds of emitted frames.
RESULT, EARLY, DEAD_LETTER, METRIC = "result", "early", "dead_letter", "metric"
# A change of the queries that a lane takes, and the plan does not know: nothing of such a batch is
# kept.
CHANGE = "change"
# In their place: a file that already has the rows of such frames.
DATA_FILE = "data_file"


class SinkFrame(NamedTuple):
    """One frame on its way to a sink.

    Attributes:
        kind: `result`, `early`, `dead_letter`, `metric` or `change`.
        query: the query of the rows; None for the other kinds.
        frame: a frame as bytes; of a change, the packed
            `windowing.engine.storage.parcel.TakenChange`.
    """

    kind: str
    query: str | None
    frame: bytes


def tagged(emission: Emission) -> Iterator[SinkFrame]:
    """Return the frames of one shard's step, tagged for a sink."""
    for taken in emission.taken:
        yield SinkFrame(CHANGE, None, msgspec.msgpack.encode(taken))
    for query, frame in emission.results.items():
        yield SinkFrame(RESULT, query, to_bytes(frame))
    for query, frame in emission.early.items():
        yield SinkFrame(EARLY, query, to_bytes(frame))
    for data in emission.dead_letters:
        yield SinkFrame(DEAD_LETTER, None, data)
    for data in emission.metrics:
        yield SinkFrame(METRIC, None, data)


def check_unchanged(frames: Iterable[SinkFrame]) -> None:
    """Check that no lane takes a change of the queries in a batch.

    Raises:
        QueriesChanged: one does.
    """
    changes = [bytes(data) for kind, _, data in frames if kind == CHANGE]
    taken = [msgspec.msgpack.decode(one, type=TakenChange) for one in changes]
    if taken:
        raise QueriesChanged(taken)


def rows_of(
    query: Flow,
    pipeline: Pipeline,
    frame: pl.DataFrame,
    *,
    early: bool = False,
) -> Iterator[Row]:
    """Return the rows of a frame from a part of `windowing.engine.windows`.

    Args:
        early: whether they are provisional.
    """
    keys = frame[KEY].to_list() if query.key else [{}] * len(frame)
    values = frame[VALUES].struct.unnest().rows()
    for row, (start_us, end_us), key, value in zip(
        frame.select(WINDOW_ID, REVISION, RECORDS, OFFSETS, *marks(frame)).iter_rows(),
        extents(query, frame),
        keys,
        values,
        strict=True,
    ):
        window_id, revision, records, offsets, retracts, tombstone, absorbed_by, overflow = row
        yield Row(
            query=query.name,
            window_id=window_id,
            window_start_us=start_us,
            window_end_us=end_us,
            key=tuple(key[field] for field in query.key),
            pane="early" if early else "late" if revision else "full",
            revision=revision,
            records=records,
            offsets={
                pipeline.source.lane(o[PARTITION]): (o[FIRST_OFFSET], o[LAST_OFFSET])
                for o in offsets
            },
            values=dict(zip(query.shows, value, strict=True)),
            retracts=retracts,
            tombstone=tombstone,
            absorbed_by=absorbed_by,
            overflow=tuple(overflow or ()),
        )


def marks(frame: pl.DataFrame) -> list[pl.Expr]:
    """Return the marks of a frame's rows, or their defaults."""
    defaults = {
        RETRACTS: pl.lit(value=False),
        TOMBSTONE: pl.lit(value=False),
        ABSORBED_BY: pl.lit(None, dtype=pl.Int64),
        OVERFLOW: pl.lit(None, dtype=pl.List(pl.String)),
    }
    return [
        pl.col(name) if name in frame.columns else default.alias(name)
        for name, default in defaults.items()
    ]


def dead_letters_of(pipeline: Pipeline, data: bytes) -> Iterator[DeadLetter]:
    """Return the dead letters of a lane's frame, as bytes."""
    letters = from_bytes(data).select(PARTITION, OFFSET, "query", "reason")
    for partition, offset, query, reason in letters.iter_rows():
        source, number = pipeline.source.place(partition)
        yield DeadLetter(source.topic, number, offset, query, reason)


def count(counts: MutableMapping[str, Counts], fates: Fates, metrics: bytes) -> None:
    """Add a lane's counts of a batch, by query.

    Args:
        counts: the counts so far; new queries are added.
        metrics: a frame as bytes, as in `windowing.engine.storage.parcel.Parcel`.
    """
    columns = from_bytes(metrics).select("query", READ, *names(fates))
    for row in columns.iter_rows(named=True):
        found, before = Counts.in_row(fates, row), counts.get(row["query"])
        counts[row["query"]] = found if before is None else before.plus(found)


def reach(lanes: MutableMapping[int, LaneEnd], metrics: bytes) -> None:
    """Note how far a lane is after a batch, by its number.

    Args:
        lanes: how far they were; new ones are added.
        metrics: as of `count`.
    """
    columns = from_bytes(metrics).select(PARTITION, "progress_us", "ended", "last_offset")
    for number, progress_us, ended, last_offset in columns[:1].iter_rows():
        known = lanes.setdefault(number, LaneEnd())
        known.progress_us, known.ended = progress_us, ended
        known.last_offset = known.last_offset if last_offset is None else last_offset


def details_of(pipeline: Pipeline, data: bytes) -> Iterator[tuple[DeadLetter, Detail]]:
    """Return the dead letters of a lane's frame, each with what was wrong."""
    details = from_bytes(data).select(*Detail._fields).iter_rows()
    return zip(dead_letters_of(pipeline, data), map(Detail._make, details), strict=True)


def waiting(query: Flow, frames: Iterable[pl.DataFrame]) -> Waiting:
    """Return what a query waits with, from the rows that it sends once all lanes end."""
    windows, rows, revisions = set[tuple[int, int]](), 0, 0
    for frame in frames:
        sent = frame.select(REVISION, *marks(frame))
        first = ((sent[REVISION] == 0) & ~sent[RETRACTS]).to_list()
        rows += sum(first)
        revisions += int(((sent[REVISION] > 0) & ~sent[RETRACTS]).sum())
        windows |= {extent for extent, new in zip(extents(query, frame), first, strict=True) if new}
    return Waiting(len(windows), rows, revisions, min((end for _, end in windows), default=None))


class RecordsUnaccounted(WindowingError):
    """A run that cannot account for all of its records: a defect of the engine."""


def check_counts(query: str, counts: Counts, dead_letters: Iterable[DeadLetter]) -> None:
    """Check that every record of a query is accounted for.

    Raises:
        RecordsUnaccounted: the counts do not add up to those read, or the dead letters written
            differ from those counted.
    """
    written = sum(letter.query in (None, query) for letter in dead_letters)
    if counts.total != counts.read or written != counts[DEAD.name]:
        msg = (
            f"{query}: {counts}, and {written} dead letters were written: records were lost or "
            "taken twice by a defect of the engine; report it with the pipeline and its log"
        )
        raise RecordsUnaccounted(msg)


def write_output(
    output: Path,
    rows: Iterable[Row],
    dead_letters: Iterable[DeadLetter],
    details: Mapping[DeadLetter, Detail] | None = None,
) -> None:
    """Write OUT.jsonl and, beside it, OUT.dead.jsonl: both, or none.

    Args:
        details: what was wrong with each dead letter, to be written, too; None: it is not.

    Raises:
        WriteError: they cannot be written; earlier files are unchanged.
    """
    with whole_files(output, dead_letter_path(output)) as (out, dead):
        out.writelines(line.encode() + b"\n" for line in row_lines(rows))
        lines = dead_letter_lines(dead_letters, details)
        dead.writelines(line.encode() + b"\n" for line in lines)


def dead_letter_path(output: Path) -> Path:
    """Return the file of dead letters beside an output file: `OUT.dead.jsonl` for `OUT.jsonl`."""
    return output.with_name(output.name.removesuffix(".jsonl") + ".dead.jsonl")
