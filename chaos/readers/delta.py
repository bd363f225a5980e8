"""Read the output of a run from Delta tables.

Lines are formatted from the columns; instants are int64 microseconds and never become Python
datetimes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from chaos.readers.output import (
    RETRACT,
    DamagedOutput,
    Line,
    Output,
    OutputError,
    count_dead,
    dead_letter_identity,
    row_identity,
)
from windowing.files.places import place
from windowing.files.table_rows import dataset_of, folder_of, rows_in
from windowing.model.fates import Counts, counted
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Row, dead_letter_line, row_line


def read_tables(
    table_dir: str | Path, pipeline: Pipeline, run: str | None = None, *, before: int | None = None
) -> Output:
    """Read what one run wrote to the Delta tables of a pipeline.

    Args:
        table_dir: folder with a table per query, or one for all, `dead_letters` and `metrics`.
        run: name of the run; None if the tables hold only one.
        before: only what batches with lower numbers wrote; None: everything.

    Raises:
        OutputError: a table is missing or lacks a column; no such run, or several to choose from.
        DamagedOutput: a table cannot be read.
    """
    with _undamaged(place(table_dir)):
        return _read_tables(place(table_dir), pipeline, run, before)


def _read_tables(folder: Path, pipeline: Pipeline, run: str | None, before: int | None) -> Output:
    tables = {name: _open(folder, name) for name in pipeline.tables}
    dead, metrics = _open(folder, "dead_letters"), _open(folder, "metrics")
    run = _choose(run, folder, [*tables.values(), dead, metrics])
    written = pc.field("run") == run
    if before is not None:
        written &= pc.field("batch_id") < before
    rows = _TableLines(
        folder,
        written,
        tables,
        lambda table, name: lines_of(table, pipeline.tables[name], folder / name),
    )
    letters = _TableLines(
        folder,
        written,
        {"dead_letters": dead},
        lambda table, name: table_dead_letters(table, folder / name),
    )
    for lines in (rows, letters):
        lines.check()
    return Output(
        rows=rows,
        dead=letters,
        counts=_table_counts(
            _arrow(metrics, run=run, before=before), letters, pipeline, folder / "metrics"
        ),
        ordered=False,
        name=f"{folder} run {run}",
    )


@dataclass(frozen=True)
class _TableLines:
    """The lines of a run in some tables, read anew each time, batch by batch.

    Attributes:
        tables: the tables by name, each at the version at which it was opened.
        lines: the lines of some of a table's rows, given its name.
    """

    folder: Path
    written: pc.Expression
    tables: Mapping[str, DeltaTable]
    lines: Callable[[pa.Table, str], Iterable[Line]]

    def check(self) -> None:
        """Read the tables once.

        Raises:
            OutputError: a table cannot be read, or is not one of the sink.
            DamagedOutput: as of `read_tables`.
        """
        for _ in self:
            pass

    def __iter__(self) -> Iterator[Line]:
        with _undamaged(self.folder):
            for name, table in self.tables.items():
                for part in self._parts(table):
                    yield from self.lines(part, name)

    def _parts(self, table: DeltaTable) -> Iterator[pa.Table]:
        """Yield a table's columns without rows, for their types; then the run's rows."""
        with _whole(folder_of(table)):
            dataset = dataset_of(table)
            yield dataset.schema.empty_table()
            for batch in dataset.to_batches(filter=self.written):
                yield pa.Table.from_batches([batch])


@contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """Turn every library's error about an unreadable table into `DamagedOutput`."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        msg = f"{folder}: a table is damaged, its log or one of its files: {said[:300]}"
        raise DamagedOutput(msg) from error


def _open(folder: Path, name: str) -> DeltaTable:
    try:
        with _whole(folder / name):
            return DeltaTable(str(folder / name))
    except TableNotFoundError:
        msg = f"{folder / name}: there is no Delta table: has the pipeline run with this folder?"
        raise OutputError(msg) from None


@contextmanager
def _whole(place: Path) -> Iterator[None]:
    """Turn the libraries' errors about damaged or missing files into one sentence."""
    try:
        yield
    except TableNotFoundError:
        raise
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        msg = f"{place}: the table cannot be read, as if a file of it were damaged or gone ({why})"
        raise OutputError(msg) from error


def _choose(run: str | None, folder: Path, tables: list[DeltaTable]) -> str:
    runs: set[str] = set()
    for table in tables:
        runs |= set(pc.unique(_arrow(table, ["run"])["run"]).to_pylist())
    listed = ", ".join(sorted(runs)) or "none"
    if run is None and len(runs) == 1:
        return runs.pop()
    if run is None:
        msg = f"{folder}: name the run to verify; the tables hold: {listed}"
        raise OutputError(msg)
    if run not in runs:
        msg = f"{folder}: no run is called {run!r}; the tables hold: {listed}"
        raise OutputError(msg)
    return run


def _arrow(
    table: DeltaTable,
    columns: list[str] | None = None,
    run: str | None = None,
    before: int | None = None,
) -> pa.Table:
    with _whole(folder_of(table)):
        found = rows_in(table, columns=columns, run=run)
        return found if before is None else found.filter(pc.field("batch_id") < before)


def _columns(table: pa.Table, names: Iterable[str], place: Path) -> list[list[Any]]:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        msg = f"{place}: not a table of the sink: it has no column {', '.join(lacking)}"
        raise OutputError(msg)
    return [_in_microseconds(table[name]).to_pylist() for name in names]


def lines_of(table: pa.Table, flows: Sequence[Flow], place: Path) -> Iterable[Line]:
    """Yield the rows of a table as lines, each by the columns of its query.

    Raises:
        OutputError: this is not a table of the sink, or a query is not the pipeline's.
    """
    if len(flows) == 1:
        yield from table_rows(table, flows[0], place)
        return
    named = {flow.name: flow for flow in flows}
    [names] = _columns(table, ["query"], place)
    if strange := {*names} - {*named}:
        msg = f"{place}: it has rows of query {min(map(str, strange))}, which the pipeline has not"
        raise OutputError(msg)
    ordered = table.sort_by("query")
    counts = Counter(names)
    start = 0
    for name in sorted(counts, key=str.encode):
        yield from table_rows(ordered.slice(start, counts[name]), named[name], place)
        start += counts[name]


_PLAIN = ("query", "window_id", "pane", "revision", "records", "offsets", "values")


def table_rows(table: pa.Table, query: Flow, place: Path) -> Iterable[Line]:
    """Yield the rows of a query's table as lines; `place` is its path, for messages.

    Raises:
        OutputError: this is not a table of the sink.
    """
    if "pane" in table.column_names:
        # Early rows are not part of the result; idle lanes may cause some, too.
        table = table.filter(pc.not_equal(table["pane"], "early"))
    starts, ends = (_microseconds(table, name, place) for name in ("window_start", "window_end"))
    keys = _keys(table, query, place)
    plain = _columns(table, _PLAIN, place)
    marks = dict(zip(query.marks, _columns(table, query.marks, place), strict=True))
    nothing = [None] * len(table)
    values = _structs(table, "values", query.shows, place)
    columns = zip(
        *(*plain[:-1], starts, ends, keys, values),
        *(marks.get(mark, nothing) for mark in ("op", "tombstone", "absorbed_by")),
        # A table has it if one of its queries can overflow.
        table["overflow"].to_pylist() if "overflow" in table.column_names else nothing,
        strict=True,
    )
    for name, wid, pane, revision, records, offsets, start_us, end_us, key, found, *more in columns:
        row = Row(
            query=name,
            window_id=wid,
            window_start_us=start_us,
            window_end_us=end_us,
            key=key,
            pane=pane,
            revision=revision,
            records=records,
            offsets={lane["lane"]: (lane["first"], lane["last"]) for lane in offsets or ()},
            values=dict(zip(query.shows, found, strict=True)),
            retracts=more[0] == RETRACT,
            tombstone=more[1] is True,
            absorbed_by=more[2],
            overflow=tuple(more[3] or ()),
        )
        try:
            yield row_identity(row), row_line(row)
        except ValueError as error:  # a float that is no number
            msg = f"{place}: {row} cannot be spelled as a row: {error}"
            raise OutputError(msg) from None


def _keys(table: pa.Table, query: Flow, place: Path) -> list[tuple[Any, ...]]:
    """Return the keys of rows; the table has each field once, even if `group_by` repeats PATTR."""
    if not query.key:
        return [()] * len(table)
    names = list(dict.fromkeys(query.key))
    found = (dict(zip(names, key, strict=True)) for key in _structs(table, "key", names, place))
    return [tuple(key[name] for name in query.key) for key in found]


def _microseconds(table: pa.Table, name: str, place: Path) -> list[int]:
    if name not in table.column_names or table[name].type != pa.timestamp("us", tz="UTC"):
        msg = f"{place}: column {name} must be a timestamp in microseconds, UTC"
        raise OutputError(msg)
    instants: list[int] = pc.cast(table[name], pa.int64()).to_pylist()
    return instants


def _structs(
    table: pa.Table, column: str, names: Sequence[str], place: Path
) -> list[tuple[Any, ...]]:
    """Return the fields of a struct column in the order of the pipeline.

    Runs of several versions of a pipeline share the tables: the other versions' fields must be null
    here.
    """
    type_ = table[column].type if column in table.column_names else None
    if type_ is None or not pa.types.is_struct(type_):
        msg = f"{place}: column {column} must be a struct of {', '.join(names)}"
        raise OutputError(msg)
    there = {field.name for field in type_}
    if not there.issuperset(names):
        msg = f"{place}: column {column} is {type_}, and the pipeline has {', '.join(names)}"
        raise OutputError(msg)
    found, nothing = _in_microseconds(table[column]).to_pylist(), dict.fromkeys(there)
    for name in sorted(there.difference(names)):
        if any(part and part[name] is not None for part in found):
            msg = (
                f"{place}: {column}.{name} has values in rows of this run, and its pipeline has no "
                f"{name} (it has {', '.join(names)}): is the file the one that the run was begun "
                "with?"
            )
            raise OutputError(msg)
    return [tuple(_spelled((part or nothing)[name]) for name in names) for part in found]


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with instants as integers, since Python's end with the year 9999."""
    return column.cast(_without_instants(column.type))


def _without_instants(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_list(type_):
        return pa.list_(_without_instants(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(part.name, _without_instants(part.type)) for part in type_])
    return type_


def _spelled(value: Any) -> Any:
    # No valid row has a NaN, and JSON cannot express it: as text, it shows up as a difference.
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def table_dead_letters(table: pa.Table, place: Path) -> list[Line]:
    """Return the dead letters of a table as lines; `place` is its path, for messages.

    Raises:
        OutputError: this is not a table of the sink.
    """
    plain = _columns(table, ("source", "partition", "offset", "query", "reason"), place)
    letters = [DeadLetter(*fields) for fields in zip(*plain, strict=True)]
    return [(dead_letter_identity(letter), dead_letter_line(letter)) for letter in letters]


def _table_counts(
    metrics: pa.Table, letters: Iterable[Line], pipeline: Pipeline, place: Path
) -> dict[str, Counts]:
    columns = ("query", "batch_id", *counted(pipeline.source.fates))
    batches = zip(*_columns(metrics, columns, place), strict=True)
    return tally(((query, batch, numbers) for query, batch, *numbers in batches), letters, pipeline)


def tally(
    batches: Iterable[tuple[str, int, list[int]]],
    letters: Iterable[Line],
    pipeline: Pipeline,
) -> dict[str, Counts]:
    """Add up the counts of all batches; count the dead letters that exist, not those reported.

    Args:
        batches: a query, the number of a batch, or the lowest of several, and their numbers of
            records: the columns that `windowing.model.fates.counted` names.
    """
    fates = pipeline.source.fates
    nothing, (_, *columns) = Counts.of(fates), counted(fates)
    sums: dict[str, Counts] = {}
    begun: dict[str, int] = {}
    for name, batch, (read, *numbers) in batches:
        more = Counts.of(fates, read, **dict(zip(columns, numbers, strict=True)))
        sums[name] = sums.get(name, nothing).plus(more)
        begun[name] = min(batch, begun.get(name, batch))
    longest = max(sums.values(), key=lambda counts: counts.read, default=nothing)
    counts = {}
    for query in pipeline.flows:
        found = sums.get(query.name, nothing).but(dead=count_dead(letters, query.name))
        if begun and begun.get(query.name, math.inf) > min(begun.values()):
            found = found.since_added(longest)
        counts[query.name] = found
    return counts
