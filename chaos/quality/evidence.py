"""Facts from the log, for the expectations that compare with it."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from chaos.quality.block import Check
from chaos.quality.columns import window_columns
from chaos.quality.expectation import CONSERVED, FRESH, WINDOW_SET
from chaos.quality.finality import NOTHING_DUE, instant
from chaos.quality.frames import arrow_type
from chaos.quality.results import QualityError
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import Scalar
from windowing.semantics import LogEntry, Outcome, evaluate

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Evidence:
    """What the log says.

    Attributes:
        windows: by query, the Parquet file of the definition's windows.
        read: number of data records that an independent reader saw.
        reached: by query, the event time that the log has reached, in ISO 8601, or `NOTHING_DUE`.
        progress: of the run's lanes, in microseconds; of those that have ended or none, nothing.
    """

    windows: Mapping[str, Path]
    read: int
    reached: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, int] = field(default_factory=dict)


def gather(
    pipeline: Pipeline, checks: list[Check], log: Iterable[LogEntry], folder: Path, say: Progress
) -> Evidence:
    """Evaluate the definition over a log, if some expectation compares with it.

    The log is read at most once. The definition's windows are kept in the folder of the Data Docs.

    Raises:
        QualityError: the folder cannot be written.
        BadLogError: not a log of this pipeline.
    """
    names = {entry.expectation for entry in checks}
    if not names & {CONSERVED, WINDOW_SET, FRESH}:
        return Evidence({}, 0)
    say("reading the log")
    entries = list(log)
    windows: dict[str, Path] = {}
    say("evaluating the definition")
    outcome = evaluate(pipeline, entries)
    # An unrecognized control record counts like an invalid record.
    dead = {(one.source, one.partition, one.offset) for one in outcome.dead if one.query is None}
    read = {(e.source, e.partition, e.offset) for e in entries if e.control is None} | dead
    if WINDOW_SET in names:
        for query in pipeline.flows:
            table = _defined_windows(outcome, query, pipeline)
            windows[query.name] = _keep(table, query.name, folder / "definition")
    reached = {query.name: _reached(outcome, query.name) for query in pipeline.flows}
    return Evidence(windows, len(read), reached)


def _reached(outcome: Outcome, query: str) -> str:
    """Return the event time that a log has reached, as `ExpectNewestWindowToBeFresh` defines it."""
    ends = [row.window_end_us for row in outcome.rows if row.query == query]
    if not ends:
        return NOTHING_DUE
    known = [us for us in outcome.progress.values() if us is not None]
    going = [int(us) for us in known if us != math.inf]
    return instant(max(going or ends)) or NOTHING_DUE


def _keep(table: pa.Table, query: str, folder: Path) -> Path:
    """Write a table to a file named after its content, so that later runs do not change it."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    content = buffer.getvalue()
    path = folder / f"{query}-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror}): make room, or give another folder"
        raise QualityError(msg) from error
    return path


def _of_arrow(value: Scalar, type_: pa.DataType) -> object:
    """Return a value of a key as Arrow takes it."""
    return (
        date.fromisoformat(str(value)) if value is not None and pa.types.is_date(type_) else value
    )


def _defined_windows(outcome: Outcome, query: Flow, pipeline: Pipeline) -> pa.Table:
    names, by_place = window_columns(query), query.revised_by
    kinds = query.key_types(pipeline.source.fields)
    own = [row for row in outcome.rows if row.query == query.name]
    # A window whose last row only withdraws what was sent is none.
    named = {(row.window_id, *row.key): row.retracts or row.tombstone for row in own}
    named |= {(row.window_id, *row.key): True for row in own if row.absorbed_by is not None}
    windows: list[tuple[Scalar, ...]] = [window for window, gone in named.items() if not gone]
    types = [pa.int64(), *map(arrow_type, kinds.values())]
    if by_place is not None:
        places = [query.key.index(name) for name in by_place]
        windows = list(dict.fromkeys(tuple(row.key[at] for at in places) for row in own))
        types = [arrow_type(kinds[name]) for name in by_place]
    columns = [
        pa.array([_of_arrow(window[at], type_) for window in windows], type_)
        for at, type_ in enumerate(types)
    ]
    return pa.table(columns, names=names)
